"""What tools/build.sh says, of a cmake that only prints."""
import os
import pty
import subprocess
import unittest

from tool import TOOLS, ToolTest

COMPILES = ["[0/2] Re-checking globbed directories...", "[1/3] cd folder && cmake -P revision.cmake",
            "[2/3] Building CXX object a.o", "[3/3] Linking CXX executable a"]
NOTHING = ["[0/2] Re-checking globbed directories...", "[1/4] cd folder && cmake -P revision.cmake"]


class BuildTest(ToolTest):
    def cmake(self, lines: list[str], code: int = 0) -> None:
        """The cmake that build() finds: prints these lines when it builds."""
        text = "\n".join(lines)
        self.write("bin/cmake", f"#!/bin/sh\n[ $1 = --build ] || exit 0\ncat <<'END'\n{text}\nEND\nexit {code}\n")
        (self.root / "bin/cmake").chmod(0o755)

    def call(self, **pipes) -> subprocess.CompletedProcess:
        script = f"source {TOOLS}/packages.sh; source {TOOLS}/build.sh; build release inferno"
        environment = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        return subprocess.run(["bash", "-c", "set -euo pipefail; " + script], cwd=self.root, env=environment,
                              check=False, **pipes)

    def build(self) -> tuple[int, str]:
        done = self.call(text=True, capture_output=True)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def test_progress_and_end_without_a_terminal(self):
        self.cmake(COMPILES)
        code, said = self.build()
        self.assertEqual(code, 0)
        self.assertRegex(said, r"\ABuilding build/release: 2 of 3\nBuilt build/release in \d+ s\n\Z")

    def test_nothing_to_do_is_not_mentioned(self):
        for lines in (NOTHING, ["ninja: no work to do."]):
            self.cmake(lines)
            self.assertEqual(self.build(), (0, ""))

    def test_terminal_has_one_line(self):
        self.cmake(COMPILES)
        ours, theirs = pty.openpty()
        self.assertEqual(self.call(stdout=subprocess.DEVNULL, stderr=theirs).returncode, 0)
        os.close(theirs)
        said = ""
        try:
            while piece := os.read(ours, 1 << 16):  # it comes in pieces
                said += piece.decode()
        except OSError:  # the end, of a terminal
            pass
        os.close(ours)
        self.assertIn("\r\033[KBuilding build/release: 3 of 3\r\033[KBuilt build/release in", said)
        self.assertEqual(said.count("\n"), 1)

    def test_failure_shows_what_was_printed(self):
        self.cmake(COMPILES[:2] + ["FAILED: a.o"], 1)
        code, said = self.build()
        self.assertEqual(code, 1)
        self.assertIn("FAILED: a.o\nThe build of build/release failed: see above.\n", said)


if __name__ == "__main__":
    unittest.main()
