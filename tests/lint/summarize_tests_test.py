import unittest

from tool import ToolTest

PASSED = '<testcase name="Ok" classname="A" status="run" result="completed"/>'
FAILED = '<testcase name="Bad" classname="A" status="run"><failure message="m">a.cpp:3\n1 is not 2</failure></testcase>'
SKIPPED = '<testcase name="Later" classname="A" status="run"><skipped message="m">a.cpp:4\nneeds data</skipped></testcase>'
DISABLED = '<testcase name="DISABLED_Never" classname="A" status="notrun"/>'


class SummarizeTests(ToolTest):
    def results(self, *entries: tuple[str, str, str], build: str = "test") -> None:
        """ctest's results: (name, status, output or element) of each entry."""
        cases = "".join(f'<testcase name="{name}" status="{status}">{inner}</testcase>' for name, status, inner in entries)
        self.write(f"{build}/reports/ctest.xml", f"<testsuite>{cases}</testsuite>")

    def program(self, name: str, *cases: str, build: str = "test") -> None:
        self.write(f"{build}/bin/{name}_tests", "")
        if cases:
            self.write(f"{build}/reports/{name}.xml",
                       f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")

    def summarize(self, *builds: str) -> tuple[int, list[str]]:
        code, output = self.run_tool("summarize_tests.py", *(self.root / build for build in builds or ("test",)))
        return code, output.splitlines()

    def test_counts_every_case(self):
        self.results(("unit", "run", ""), ("check_floors", "run", ""))
        self.program("unit", PASSED, PASSED, SKIPPED, DISABLED)
        code, lines = self.summarize()
        self.assertEqual(code, 0)
        self.assertEqual(lines[-1], "3 passed, 0 failed, 2 skipped")
        self.assertIn("SKIPPED test: unit A.Later: needs data", lines)

    def test_failed_case(self):
        self.results(("unit", "fail", "<failure/>"))
        self.program("unit", PASSED, FAILED)
        code, lines = self.summarize()
        self.assertEqual(code, 1)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")
        self.assertIn("FAILED test: unit A.Bad: a.cpp:3", lines)

    def test_crashed_program(self):
        self.results(("unit", "fail", "<failure/><system-out>Segmentation fault</system-out>"), ("lint", "run", ""))
        self.program("unit")
        code, lines = self.summarize()
        self.assertEqual(code, 1)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")
        self.assertIn("Segmentation fault", lines)

    def test_program_that_passes_without_a_report(self):
        self.results(("unit", "run", ""), ("lint", "run", ""))
        self.program("unit")
        self.assertEqual(self.summarize()[1][-1], "1 passed, 1 failed, 0 skipped")

    def test_partial_report(self):
        self.results(("unit", "fail", "<failure/>"), ("lint", "run", ""))
        self.program("unit")
        self.write("test/reports/unit.xml", f"<testsuites><testsuite>{PASSED}")
        self.assertEqual(self.summarize()[1][-1], "1 passed, 1 failed, 0 skipped")

    def test_program_that_ends_badly_after_its_last_case(self):
        self.results(("unit", "fail", "<failure/><system-out>LeakSanitizer</system-out>"))
        self.program("unit", PASSED)
        code, lines = self.summarize()
        self.assertEqual(code, 1)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_entries_that_are_no_programs(self):
        self.results(("a", "run", ""), ("b", "fail", "<failure/>"),
                     ("c", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/><system-out>needs it</system-out>'),
                     ("d", "notrun", '<skipped message="Unable to find executable"/>'))
        code, lines = self.summarize()
        self.assertEqual(code, 1)
        self.assertEqual(lines[-1], "1 passed, 2 failed, 1 skipped")
        self.assertIn("SKIPPED test: c: needs it", lines)

    def test_sums_over_builds(self):
        for build in ("test", "dev"):
            self.results(("unit", "run", ""), build=build)
            self.program("unit", PASSED, PASSED, build=build)
        code, lines = self.summarize("test", "dev")
        self.assertEqual(code, 0)
        self.assertEqual(lines, ["test: 2 passed, 0 failed, 0 skipped", "dev: 2 passed, 0 failed, 0 skipped",
                                 "4 passed, 0 failed, 0 skipped"])

    def test_build_without_results(self):
        self.results(("unit", "run", ""))
        self.program("unit", PASSED)
        code, lines = self.summarize("test", "dev")
        self.assertEqual(code, 1)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_run_that_was_skipped(self):
        self.results(("unit", "run", ""))
        self.program("unit", PASSED)
        self.write("aarch64/reports/skipped", "no compiler\n")
        code, lines = self.summarize("test", "aarch64")
        self.assertEqual(code, 0)
        self.assertEqual(lines[-1], "1 passed, 0 failed, 1 skipped")
        self.assertIn("SKIPPED aarch64: no compiler", lines)

    def test_nothing_passed(self):
        self.results(("unit", "run", ""))
        self.program("unit", SKIPPED)
        self.assertEqual(self.summarize()[0], 1)

    def test_bytes_that_are_not_utf8(self):
        self.results(("unit", "run", ""))
        self.program("unit", PASSED)
        report = self.root / "test/reports/unit.xml"
        report.write_bytes(report.read_bytes().replace(b'"Ok"', b'"\xff"'))
        self.assertEqual(self.summarize()[0], 0)


if __name__ == "__main__":
    unittest.main()
