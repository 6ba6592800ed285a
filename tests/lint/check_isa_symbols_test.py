import os
import subprocess
import unittest

from tool import ToolTest

STRONG = """namespace inferno::kernels::avx2 {
static int twice(int x) { return 2 * x; }
int table(int x) { return twice(x); }
}
"""
WEAK = """namespace inferno::kernels::avx2 {
inline int twice(int x) { return 2 * x; }
int (*table())(int) { return twice; }
}
"""
ELSEWHERE = "namespace inferno::kernels { int table(int x) { return x; } }\n"
LIST = """    {"avx2", nullptr, kNeeds0, avx2::table},
    {"neon", &kIsas[0], kNeeds1, nullptr},
"""


class CheckIsaSymbols(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("build/src/kernels/isas.cpp", LIST)

    def compile(self, source: str) -> None:
        self.write("src/kernels/cpu/avx2/table.cpp", source)
        obj = self.root / "build/kernels.dir/cpu/avx2/table.cpp.o"
        obj.parent.mkdir(parents=True)
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", "-c",
                        str(self.root / "src/kernels/cpu/avx2/table.cpp"), "-o", str(obj)], check=True)

    def check(self) -> tuple[int, str]:
        return self.run_tool("check_isa_symbols.py", self.root, self.root / "build", os.environ.get("NM", "nm"))

    def test_accepts_an_object_without_weak_symbols(self):
        self.compile(STRONG)
        code, output = self.check()
        self.assertEqual(code, 0, output)
        self.assertIn("1 objects", output)

    def test_weak_symbol(self):
        self.compile(WEAK)
        code, output = self.check()
        self.assertEqual(code, 1, output)
        self.assertIn("weak symbol inferno::kernels::avx2::twice(int)", output)

    def test_symbol_of_another_namespace(self):
        self.compile(ELSEWHERE)
        code, output = self.check()
        self.assertEqual(code, 1, output)
        self.assertIn("inferno::kernels::table(int) is not in inferno::kernels::avx2", output)

    def test_sources_without_objects(self):
        self.write("src/kernels/cpu/avx2/table.cpp", STRONG)
        code, output = self.check()
        self.assertEqual(code, 1, output)
        self.assertIn("no object found", output)

    def test_isa_of_another_architecture_has_no_objects(self):
        self.compile(STRONG)
        self.write("src/kernels/cpu/neon/table.cpp", "")
        self.assertEqual(self.check()[0], 0)

    def test_folder_of_headers_is_no_isa(self):
        self.compile(STRONG)
        self.write("src/kernels/cpu/loops/rows.h", "")
        self.assertEqual(self.check()[0], 0)

    def test_folder_that_is_not_built(self):
        self.compile(STRONG)
        self.write("src/kernels/cpu/avx1024/table.cpp", "")
        code, output = self.check()
        self.assertEqual(code, 1, output)
        self.assertIn("avx1024: no add_isa() names it", output)


if __name__ == "__main__":
    unittest.main()
