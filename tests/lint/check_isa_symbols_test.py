import os
import subprocess
import unittest

from tool import ToolTest

STRONG = 'static int twice(int x) { return 2 * x; }\nint table(int x) { return twice(x); }\n'
WEAK = 'inline int twice(int x) { return 2 * x; }\nint (*table())(int) { return twice; }\n'


class CheckIsaSymbols(ToolTest):
    def compile(self, source: str) -> None:
        self.write("src/kernels/cpu/avx2/table.cpp", source)
        obj = self.root / "build/kernels.dir/cpu/avx2/table.cpp.o"
        obj.parent.mkdir(parents=True)
        subprocess.run([os.environ.get("CXX", "c++"), "-c", str(self.root / "src/kernels/cpu/avx2/table.cpp"),
                        "-o", str(obj)], check=True)

    def check(self) -> tuple[int, str]:
        return self.run_tool("check_isa_symbols.py", self.root, self.root / "build", os.environ.get("NM", "nm"))

    def test_is_skipped_while_there_is_no_isa(self):
        self.write("src/kernels/params.h", "")
        self.assertEqual(self.check()[0], 77)

    def test_accepts_an_object_without_weak_symbols(self):
        self.compile(STRONG)
        code, output = self.check()
        self.assertEqual(code, 0, output)
        self.assertIn("1 objects", output)

    def test_weak_symbol(self):
        self.compile(WEAK)
        code, output = self.check()
        self.assertEqual(code, 1, output)
        self.assertIn("weak symbol twice(int)", output)

    def test_sources_without_objects(self):
        self.write("src/kernels/cpu/avx2/table.cpp", STRONG)
        code, output = self.check()
        self.assertEqual(code, 1, output)
        self.assertIn("no object found", output)


if __name__ == "__main__":
    unittest.main()
