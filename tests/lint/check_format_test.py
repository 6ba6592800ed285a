import shutil
import sys
import unittest

from tool import ToolTest


class CheckFormat(ToolTest):
    def setUp(self):
        super().setUp()
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("src/a.cpp", "int a = 1;\n")

    def test_accepts_formatted_files(self):
        code, output = self.run_tool("check_format.py", self.root)
        self.assertEqual(code, 0, output)
        self.assertIn("1 files, 0 not formatted", output)

    def test_unformatted_file_and_its_repair(self):
        self.write("tests/b.h", "int   b=1;\n")
        code, output = self.run_tool("check_format.py", self.root)
        self.assertEqual(code, 1, output)
        self.assertIn("tests/b.h", output)
        self.assertEqual(self.run_tool("check_format.py", self.root, "--fix")[0], 0)
        self.assertEqual(self.run_tool("check_format.py", self.root)[0], 0)
        self.assertEqual((self.root / "tests/b.h").read_text(), "int b = 1;\n")

    def test_no_files(self):
        (self.root / "src/a.cpp").unlink()
        self.assertEqual(self.run_tool("check_format.py", self.root)[0], 1)


if __name__ == "__main__":
    if not shutil.which("clang-format-14"):
        print("needs clang-format 14 (package clang-format-14)")
        sys.exit(77)
    unittest.main()
