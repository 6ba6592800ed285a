"""How the tools' own tests call them: on a small tree made for the test."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"


class ToolTest(unittest.TestCase):
    """A test with an empty folder of its own, self.root."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run_tool(self, name: str, *arguments: object) -> tuple[int, str]:
        """Exit code and output of tools/<name>."""
        done = subprocess.run([sys.executable, str(TOOLS / name), *map(str, arguments)], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout
