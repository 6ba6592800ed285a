#!/usr/bin/env python3
"""Fails when a model family's name stands where the engine must not know families.

usage: check_family_names.py REPOSITORY

A family is a row of data: its name may stand in src/model/arch_table.cpp, src/model/presets.cpp, src/tokenizer/ and
src/chat/, and nowhere else in src/: not in code, not in comments, not in file names. Exit code 1 with one line per
violation.
"""
import re
import sys
from pathlib import Path

# Programs that are called after a family are no family.
FAMILY = re.compile(r"qwen|llama(?!-bench\b|\.cpp\b)|gemma|mistral", re.IGNORECASE)
ALLOWED = ("model/arch_table.cpp", "model/presets.cpp", "tokenizer/", "chat/")


def violations(src: Path) -> tuple[int, list[str]]:
    """How many files were read, and one line for each name that stands where it may not."""
    count, found = 0, []
    for path in sorted(p for p in src.rglob("*") if p.is_file()):
        relative = path.relative_to(src).as_posix()
        if relative.startswith(ALLOWED):
            continue
        count += 1
        if match := FAMILY.search(relative):
            found.append(f"{path}: the file's name contains '{match.group()}'")
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            if match := FAMILY.search(line):
                found.append(f"{path}:{number}: names the family '{match.group()}': {line.strip()}")
    return count, found


def main(repository: str) -> int:
    count, found = violations(Path(repository) / "src")
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{count} files, {len(found)} violations")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
