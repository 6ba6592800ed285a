import unittest

from tool import ToolTest

# Not written out: the check reads this file, too.
HOME = "/ho" + "me/"


class CheckPaths(ToolTest):
    def check(self) -> tuple[int, str]:
        return self.run_tool("check_paths.py", self.root)

    def test_accepts_relative_and_common_paths(self):
        self.write("tests/a.cpp", f"// src{HOME}x, ~{HOME}x, $HOME{HOME}x, /proc/self/status, and/or\n")
        code, output = self.check()
        self.assertEqual(code, 0, output)

    def test_path_of_a_machine(self):
        self.write("tests/a.cpp", f'\nopen("{HOME}me/model.gguf");\n')
        code, output = self.check()
        self.assertEqual(code, 1)
        self.assertIn("a.cpp:2:", output)

    def test_script_without_a_suffix(self):
        self.write("run", f"cd {HOME}me\n")
        self.assertEqual(self.check()[0], 1)

    def test_build_folder_is_not_ours(self):
        self.write("build/CMakeCache.txt", f"{HOME}me\n")
        self.write("README.md", "text\n")
        self.assertEqual(self.check()[0], 0)


if __name__ == "__main__":
    unittest.main()
