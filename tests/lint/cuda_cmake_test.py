"""What cmake/cuda.cmake makes of an nvcc that does not work, and of one that was repaired."""
import shutil
import subprocess
import unittest

from tool import TOOLS, ToolTest


@unittest.skipUnless(shutil.which("cmake"), "expected cmake in PATH")
class CudaCMakeTest(ToolTest):
    def nvcc(self, exit_code: int) -> None:
        self.write("nvcc", "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Cuda compilation tools, release 13.0' && exit 0\n"
                           f"echo tried >>{self.root}/calls\nexit {exit_code}\n")
        (self.root / "nvcc").chmod(0o755)

    def configure(self) -> str:
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(p NONE)\n"
                                     "set(CMAKE_CXX_COMPILER c++)\nmacro(enable_language)\nendmacro()\n"
                                     "macro(find_package)\nendmacro()\n"
                                     f"include({TOOLS.parent}/cmake/cuda.cmake)\n")
        done = subprocess.run(["cmake", "-S", self.root, "-B", self.root / "build", f"-DINFERNO_NVCC={self.root}/nvcc",
                               "-DINFERNO_CUDA_ARCHITECTURES=90a"], check=False, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def calls(self) -> int:
        return len((self.root / "calls").read_text().splitlines())

    def test_a_repaired_nvcc_is_tried_again_and_one_that_works_is_not(self):
        self.nvcc(1)
        self.assertIn("left out, since nvcc 13.0 compiled no line with this C++ compiler", self.configure())
        self.nvcc(0)
        self.assertIn("CUDA kernels: for 90a, by nvcc 13.0", self.configure())
        self.assertEqual(self.calls(), 2)
        self.assertIn("CUDA kernels: for 90a, by nvcc 13.0", self.configure())
        self.assertEqual(self.calls(), 2)


if __name__ == "__main__":
    unittest.main()
