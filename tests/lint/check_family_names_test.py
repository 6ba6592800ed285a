import unittest

from tool import ToolTest

# Not written out, so that a search for the names finds only where they belong.
FAMILY = "Qw" + "en"


class CheckFamilyNames(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("src/model/forward.cpp", "// any model\n")
        for path in ("model/arch_table.cpp", "model/presets.cpp", "tokenizer/split.cpp", "chat/template.h"):
            self.write(f"src/{path}", f"// {FAMILY}\n")

    def check(self) -> tuple[int, str]:
        return self.run_tool("check_family_names.py", self.root)

    def test_accepts_names_where_they_belong(self):
        code, output = self.check()
        self.assertEqual(code, 0, output)
        self.assertIn("1 files", output)

    def test_name_in_a_comment(self):
        self.write("src/model/forward.cpp", f"\n// as {FAMILY} does\n")
        code, output = self.check()
        self.assertEqual(code, 1)
        self.assertIn("forward.cpp:2: names the family", output)

    def test_name_inside_an_identifier_in_any_case(self):
        self.write("src/model/forward.cpp", f"bool is_{FAMILY.upper()}3 = false;\n")
        self.assertEqual(self.check()[0], 1)

    def test_programs_called_after_a_family_are_none(self):
        family = "lla" + "ma"
        self.write("src/model/forward.cpp", f"// beside {family}-bench of {family}.cpp\n")
        self.assertEqual(self.check()[0], 0)
        self.write("src/model/forward.cpp", f"// beside {family}-benches\n")
        self.assertEqual(self.check()[0], 1)

    def test_name_of_a_file(self):
        self.write(f"src/model/{FAMILY.lower()}.cpp", "")
        code, output = self.check()
        self.assertEqual(code, 1)
        self.assertIn("the file's name contains", output)


if __name__ == "__main__":
    unittest.main()
