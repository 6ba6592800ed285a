#!/usr/bin/env python3
"""Fails when a text file of the repository names a folder of somebody's own machine.

usage: check_paths.py REPOSITORY

Sources, scripts and pages are read and run elsewhere: a path below a home folder, a scratch folder or a mount point
works on one machine only. Exit code 1 with one line per violation.
"""
import re
import sys
from pathlib import Path

# Put together, so that this file does not name them itself.
ROOTS = "|".join(("home", "root", "work", "tmp", "mnt", "Users"))
MACHINE_PATH = re.compile(rf"(?<![\w.~*}})>/-])/(?:{ROOTS})/[\w.]")
TEXT = {".c", ".cc", ".cmake", ".cpp", ".cu", ".cuh", ".h", ".html", ".js", ".json", ".md", ".py", ".S", ".sh", ".txt",
        ".toml", ".yaml", ".yml", ""}
NOT_OURS = {"build", "reports", "__pycache__", ".git", ".cache", "corpus"}


def text_files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name in NOT_OURS or path.is_symlink():
            continue
        if path.is_dir():
            found += text_files(path)
        elif path.suffix in TEXT:
            found.append(path)
    return found


def main(repository: str) -> int:
    files = text_files(Path(repository))
    errors = []
    for path in files:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            if match := MACHINE_PATH.search(line):
                errors.append(f"{path}:{number}: {match.group()}...: {line.strip()}")
    print(*errors, sep="\n", end="\n" if errors else "")
    print(f"{len(files)} files, {len(errors)} violations")
    return 1 if errors or not files else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
