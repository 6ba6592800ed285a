#!/usr/bin/env python3
"""Counts every test of one or more ctest runs and ends with the line "N passed, N failed, N skipped".

usage: summarize_tests.py BUILD_FOLDER...

Reads BUILD_FOLDER/reports/ctest.xml, and for each of its entries NAME that is a GoogleTest program (bin/NAME_tests)
the program's own report, reports/NAME.xml: there every test case counts. Any other entry counts as one test. A program
that ended badly without a failed case in its report (it crashed, hung, or a sanitizer stopped it) adds one failure, so
does a run without results (it did not build). BUILD_FOLDER/reports/skipped stands for a run that there was none of, and says
why: one test skipped. Exit code 1 if anything failed or nothing ran.
"""
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple, Optional

MAX_OUTPUT_LINES = 60


class Outcome(NamedTuple):
    name: str
    state: str  # passed, failed or skipped
    reason: str


def parse(path: Path) -> Optional[ElementTree.Element]:
    """The report's root, or None where there is no whole report. Messages may hold bytes that are not UTF-8."""
    try:
        return ElementTree.fromstring(path.read_bytes().decode(errors="replace"))
    except (OSError, ElementTree.ParseError):
        return None


def last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-MAX_OUTPUT_LINES:])


def case_outcome(prefix: str, case: ElementTree.Element) -> Outcome:
    name = f"{prefix} {case.get('classname')}.{case.get('name')}"
    failures = [failure.text or failure.get("message", "") for failure in case.findall("failure")]
    if failures:
        return Outcome(name, "failed", "\n".join(failures))
    skipped = case.find("skipped")
    if skipped is not None:
        # The first line is the place in the source, the rest what the test says.
        reason = (skipped.text or "").strip().split("\n", 1)
        return Outcome(name, "skipped", reason[-1])
    if case.get("status") == "notrun":
        return Outcome(name, "skipped", "disabled")
    return Outcome(name, "passed", "")


def entry_outcomes(build: Path, entry: ElementTree.Element) -> list[Outcome]:
    """What one entry of ctest counts for."""
    name = f"{build.name}: {entry.get('name')}"
    status = entry.get("status")
    output = entry.findtext("system-out", "")
    skipped = entry.find("skipped")
    if skipped is not None and skipped.get("message", "").startswith("SKIP_RETURN_CODE"):
        return [Outcome(name, "skipped", last_lines(output))]
    if not (build / "bin" / f"{entry.get('name')}_tests").exists():
        return [Outcome(name, "passed" if status == "run" else "failed", last_lines(output))]
    report = parse(build / "reports" / f"{entry.get('name')}.xml")
    if report is None:
        return [Outcome(name, "failed", f"the program left no report\n{last_lines(output)}")]
    outcomes = [case_outcome(name, case) for case in report.iter("testcase")]
    if status != "run" and all(outcome.state != "failed" for outcome in outcomes):
        outcomes.append(Outcome(name, "failed", f"ended badly after its last test\n{last_lines(output)}"))
    return outcomes


def run_outcomes(build: Path) -> list[Outcome]:
    """What one ctest run, that of one build folder, counts for."""
    skipped = build / "reports" / "skipped"
    if skipped.exists():
        return [Outcome(build.name, "skipped", skipped.read_text().strip())]
    results = parse(build / "reports" / "ctest.xml")
    if results is None:
        return [Outcome(f"{build.name}:", "failed", "no results: it did not build, or ctest did not run")]
    outcomes = [outcome for entry in results.iter("testcase") for outcome in entry_outcomes(build, entry)]
    if not any(outcome.state == "passed" for outcome in outcomes):
        outcomes.append(Outcome(f"{build.name}:", "failed", "no test passed"))
    return outcomes


def count(outcomes: list[Outcome]) -> str:
    states = [outcome.state for outcome in outcomes]
    return ", ".join(f"{states.count(state)} {state}" for state in ("passed", "failed", "skipped"))


def main(builds: list[str]) -> int:
    everything: list[Outcome] = []
    for build in builds:
        outcomes = run_outcomes(Path(build))
        everything += outcomes
        if len(builds) > 1:
            print(f"{Path(build).name}: {count(outcomes)}")
    for state in ("skipped", "failed"):
        for outcome in everything:
            if outcome.state == state:
                print(f"{state.upper()} {outcome.name}: {outcome.reason}")
    print(count(everything))
    return 1 if any(outcome.state == "failed" for outcome in everything) else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
