#!/usr/bin/env python3
"""Asks nm that no object of src/kernels/cpu/<isa>/ defines a weak symbol.

usage: check_isa_symbols.py REPOSITORY BUILD_FOLDER [NM]

A weak symbol is an inline function or a template that every object may define. The linker keeps one copy for all of
them: were it the one compiled for a newer ISA, the program would die on an older processor. Exit code 1 with one line
per violation, 77 (skipped) while there is no such folder.
"""
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
# Defined weak symbols, weak objects, and unique globals, as nm's POSIX format marks them.
WEAK_TYPES = {"W", "w", "V", "v", "u"}


def weak_symbols(nm: str, obj: Path) -> list[str]:
    listing = subprocess.run([nm, "--defined-only", "--demangle", "--format=posix", str(obj)],
                             check=True, capture_output=True, text=True).stdout
    found = []
    for line in listing.splitlines():
        # name type value size; a demangled name may contain spaces.
        fields = line.rsplit(" ", 3)
        if len(fields) == 4 and fields[1] in WEAK_TYPES:
            found.append(fields[0])
    return found


def main(repository: str, build: str, nm: str = "nm") -> int:
    folder = Path(repository) / "src" / "kernels" / "cpu"
    if not folder.is_dir():
        print("there is no src/kernels/cpu yet")
        return SKIPPED
    errors, count = [], 0
    for isa in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        objects = sorted(Path(build).rglob(f"cpu/{isa}/*.o"))
        count += len(objects)
        if not objects and any(folder.joinpath(isa).glob("*.cpp")):
            errors.append(f"src/kernels/cpu/{isa}: no object found below {build}")
        for obj in objects:
            errors += [f"{obj}: weak symbol {name}" for name in weak_symbols(nm, obj)]
    print(*errors, sep="\n", end="\n" if errors else "")
    print(f"{count} objects, {len(errors)} violations")
    return 1 if errors else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
