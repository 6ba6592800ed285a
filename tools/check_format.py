#!/usr/bin/env python3
"""Checks (or, with --fix, makes) every C++ file formatted as .clang-format says.

usage: check_format.py REPOSITORY [--fix]

clang-format 14 it must be: other versions format differently. Exit code 1 with the files that differ, 77 (skipped)
where that version is not installed.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
VERSION = "14"
FOLDERS = ("apps", "bench", "fuzz", "models", "src", "tests")
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def find_clang_format() -> str:
    """The clang-format of the right version, or an empty string."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        version = subprocess.run([path, "--version"], check=True, capture_output=True, text=True).stdout
        if re.search(rf"version {VERSION}\.", version):
            return path
    return ""


def main(repository: str, fix: bool) -> int:
    clang_format = find_clang_format()
    if not clang_format:
        print(f"needs clang-format {VERSION} (package clang-format-{VERSION})")
        return SKIPPED
    root = Path(repository)
    files = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES)
    if not files:
        print(f"{root}: no C++ file found")
        return 1
    if fix:
        return subprocess.run([clang_format, "-i", *files], check=False).returncode
    report = subprocess.run([clang_format, "--dry-run", *files], check=True, capture_output=True, text=True).stderr
    wrong = [path for path in files if f"{path}:" in report]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(files)} files, {len(wrong)} not formatted"
          + (f": run tools/check_format.py {repository} --fix" if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--fix"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], "--fix" in sys.argv[2:]))
