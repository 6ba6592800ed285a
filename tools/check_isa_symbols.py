#!/usr/bin/env python3
"""Asks nm what the objects of src/kernels/cpu/<isa>/ define.

usage: check_isa_symbols.py REPOSITORY BUILD_FOLDER [NM]

They may define nothing weak and nothing outside inferno::kernels::<isa>. A weak symbol is an inline function or a
template that every object may define. The linker keeps one copy for all of them: were it the one compiled for a newer
ISA, the program would die on an older processor. Exit code 1 with one line per violation.

Which ISAs the build has, and which it knows by name alone, says the list that cmake/isa.cmake made.
"""
import re
import subprocess
import sys
from pathlib import Path

# Weak symbols, weak objects, and unique globals, as nm's POSIX format marks them.
WEAK_TYPES = {"W", "w", "V", "v", "u"}
ROW = re.compile(r'\{"(\w+)", .*, (nullptr|\w+::table)\},')


def defined_symbols(nm: str, obj: Path) -> list[tuple[str, str]]:
    """(name, type) of the symbols that other objects see."""
    listing = subprocess.run([nm, "--defined-only", "--extern-only", "--demangle", "--format=posix", str(obj)],
                             check=True, capture_output=True, text=True).stdout
    # name type value size; a demangled name may contain spaces.
    fields = [line.rsplit(" ", 3) for line in listing.splitlines()]
    return [(field[0], field[1]) for field in fields if len(field) == 4]


def check_object(nm: str, isa: str, obj: Path) -> list[str]:
    errors = []
    for name, kind in defined_symbols(nm, obj):
        if kind in WEAK_TYPES:
            errors.append(f"{obj}: weak symbol {name}")
        elif not name.startswith(f"inferno::kernels::{isa}::"):
            errors.append(f"{obj}: {name} is not in inferno::kernels::{isa}")
    return errors


def main(repository: str, build: str, nm: str = "nm") -> int:
    folder = Path(repository) / "src" / "kernels" / "cpu"
    isa_list = Path(build) / "src" / "kernels" / "isas.cpp"
    tables = dict(ROW.findall(isa_list.read_text()))
    errors, count = [], 0
    # A folder without sources has loops that the ISAs share, each compiled as part of them.
    for isa in sorted({path.parent.name for path in folder.glob("*/*.cpp")}):
        if isa not in tables:
            errors.append(f"src/kernels/cpu/{isa}: no add_isa() names it")
            continue
        if tables[isa] == "nullptr":
            continue  # objects, where there are any, are not linked, or of an earlier build
        objects = sorted(Path(build).rglob(f"cpu/{isa}/*.o"))
        count += len(objects)
        if not objects:
            errors.append(f"src/kernels/cpu/{isa}: no object found below {build}")
        for obj in objects:
            errors += check_object(nm, isa, obj)
    print(*errors, sep="\n", end="\n" if errors else "")
    print(f"{count} objects, {len(errors)} violations")
    return 1 if errors or count == 0 else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
