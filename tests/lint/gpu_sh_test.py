"""bench/gpu.sh from end to end on a machine without a GPU: its tools and inferno are stood in for by scripts."""
import json
import os
import shutil
import subprocess
import unittest

from tool import TOOLS, ToolTest

PASSED = "[==========] 2 tests from 1 test suite ran. (1 ms total)\n[  PASSED  ] 2 tests.\n"
NONE = "[==========] Running 0 tests from 0 test suites.\n[  PASSED  ] 0 tests.\n"
SKIPPED = "[  SKIPPED ] Files/Golden.A/b_cuda (0 ms)\n[  PASSED  ] 1 test.\n"

# The sub-commands that gpu.sh calls, as far as it depends on them.
INFERNO = """#!/usr/bin/env python3
import json, sys
command = sys.argv[1:]
with open("calls", "a") as calls:
    calls.write(" ".join(command) + "\\n")
value = lambda option: command[command.index(option) + 1]
if command[0] == "synthesize":
    open(command[2], "w").close()
elif command[:2] == ["bench", "generation"]:
    open(value("--model")).close()
    with open(value("--log"), "a") as log:
        log.write("{}\\n")
elif command[:2] == ["bench", "peers"]:
    open(command[2]).close()
elif command[:2] == ["bench", "ladder"]:
    rungs = [{"backend": "scalar", "decode_tps": 1.5}, {"backend": "cuda", "decode_tps": LADDER_TPS}]
    with open(value("-o"), "w") as ladder:
        json.dump({"rungs": rungs}, ladder)
"""


@unittest.skipUnless(shutil.which("timeout"), "expected timeout in PATH")
class GpuShTest(ToolTest):
    def setUp(self):
        super().setUp()
        for path in ("bench/gpu.sh", "tools/packages.sh"):
            self.write(path, (TOOLS.parent / path).read_text())
        self.program("fakes/nvidia-smi", "case $* in *compute_cap*) echo 9.0 ;; *) echo 'A card, 580, 1 MiB' ;; esac")
        self.program("fakes/cmake", "echo cmake \"$@\" >>calls")
        self.program("fakes/compute-sanitizer", "echo sanitizer $2 >>calls\nshift 4\nexec \"$@\"")
        self.gtest("op_tests", PASSED)
        self.gtest("model_tests", PASSED)
        self.inferno("9.5")

    def program(self, path: str, script: str) -> None:
        self.write(path, script if script.startswith("#!") else f"#!/bin/bash\n{script}\n")
        (self.root / path).chmod(0o755)

    def gtest(self, name: str, output: str, exit_code: int = 0) -> None:
        self.write(f"{name}.txt", output)
        self.program(f"build/test/bin/{name}", f"cat {name}.txt\nexit {exit_code}")

    def inferno(self, ladder_tps: str) -> None:
        self.program("build/test/bin/inferno", INFERNO.replace("LADDER_TPS", ladder_tps))

    def gpu_sh(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        path = f"{self.root}/fakes:{os.environ['PATH']}"
        return subprocess.run(["bash", self.root / "bench/gpu.sh", *arguments], check=False, text=True,
                              capture_output=True, env={**os.environ, "PATH": path, "MODELS": "", **environment})

    def calls(self) -> list[str]:
        return (self.root / "calls").read_text().splitlines()

    def test_every_part_runs_and_leaves_its_rows(self):
        done = self.gpu_sh(str(self.root / "out"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("All stages passed.", done.stdout)
        self.assertEqual([call for call in self.calls() if call.startswith("sanitizer")],
                         [f"sanitizer {tool}" for tool in ("memcheck", "racecheck", "initcheck") for _ in range(2)])
        self.assertIn("-DINFERNO_CUDA_ARCHITECTURES=90a", self.calls()[0])
        # Of four models two rows and a suite each.
        self.assertEqual(len((self.root / "out/generation.jsonl").read_text().splitlines()), 12)
        self.assertEqual(len([call for call in self.calls() if "--prompt-tokens 2048" in call]), 4)
        self.assertTrue(json.loads((self.root / "out/ladder.json").read_text())["rungs"])
        self.assertFalse([call for call in self.calls() if "peers" in call])

    def test_a_part_by_name_and_models_by_name(self):
        done = self.gpu_sh(str(self.root / "out"), "speed", MODELS="synthetic:qwen3-0.6b:q4_0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len((self.root / "out/generation.jsonl").read_text().splitlines()), 2)
        self.assertFalse([call for call in self.calls() if call.startswith("sanitizer")])

    def test_peers_run_where_one_is_named(self):
        done = self.gpu_sh(str(self.root / "out"), "peers", LLAMA_BENCH="/a/llama-bench")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len([call for call in self.calls() if call.endswith("--program /a/llama-bench")]), 4)
        self.assertEqual(self.gpu_sh(str(self.root / "out"), "peers", LLAMA_BENCH="").returncode, 2)

    def test_what_fails_is_named(self):
        self.gtest("op_tests", PASSED, exit_code=1)
        self.gtest("model_tests", NONE)
        done = self.gpu_sh(str(self.root / "out"), "tests")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED: op_tests model_tests\n", done.stdout)

    def test_what_is_skipped_is_counted(self):
        self.gtest("model_tests", SKIPPED)
        done = self.gpu_sh(str(self.root / "out"), "tests")
        self.assertEqual(done.returncode, 0)
        self.assertIn("== model_tests: passed, 1 tests SKIPPED", done.stdout)

    def test_a_ladder_without_its_gpu_rung_fails(self):
        self.inferno("None")
        done = self.gpu_sh(str(self.root / "out"), "speed", MODELS="synthetic:qwen3-0.6b:q4_0")
        self.assertIn("FAILED: ladder\n", done.stdout)

    def test_other_parts_and_machines_are_refused(self):
        done = self.gpu_sh(str(self.root / "out"), "speeds")
        self.assertEqual(done.returncode, 2)
        self.assertIn("found 'speeds'", done.stderr)
        (self.root / "fakes/nvidia-smi").unlink()
        if shutil.which("nvidia-smi") is None:
            done = self.gpu_sh(str(self.root / "out"))
            self.assertEqual(done.returncode, 1)
            self.assertIn("expected a machine with an NVIDIA GPU", done.stderr)


if __name__ == "__main__":
    unittest.main()
