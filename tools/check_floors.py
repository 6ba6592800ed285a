#!/usr/bin/env python3
"""Holds every #include of src/ against the floors that add_floor() declares.

usage: check_floors.py REPOSITORY

Beside it, every #include of src/, apps/, tests/, bench/ and fuzz/ against the one rule for devices: what knows CUDA's
types stands in CUDA_ROOMS, and others see of these rooms CUDA_DOORS alone, which are plain C++.

A file of src/<floor>/ may include its own floor, base (kernels may not), and the floors that the USES list of
src/<floor>/CMakeLists.txt names; nothing else of the repository. src/CMakeLists.txt lists the floors lowest first.
Exit code 1 with one line per violation.
"""
import re
import sys
from pathlib import Path
from typing import NamedTuple

# Of these floors only some headers may be included: plain data, no code that allocates, logs or links.
HEADERS_ALLOWED = {("kernels", "tensor"): {"tensor/dtype.h", "tensor/half.h", "tensor/quant_blocks.h"}}

ADD_FLOOR = re.compile(r"add_floor\(([^)]*)\)")
FOREACH_FLOOR = re.compile(r"foreach\(floor ([^)]*)\)")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
KEYWORDS = {"NO_BASE", "USES", "LINKS", "EXCLUDE"}
CUDA_ROOMS = ("src/backend/cuda", "src/kernels/cuda", "tests/emulated_cuda")
CUDA_DOORS = {"backend/cuda/cuda_backend.h", "kernels/cuda/launch.h", "emulated_cuda/faults.h"}
CUDA_HEADER = re.compile(r"(cuda|cublas|cufft|curand|cub/|cooperative_groups|nvtx|mma\.h|thrust/)")
SOURCES = {".h", ".cpp", ".cu", ".cuh", ".inc", ".S"}


class Floor(NamedTuple):
    uses: list[str]
    no_base: bool


def parse_add_floor(text: str) -> tuple[str, Floor]:
    """Name and rules from the add_floor(...) of one CMakeLists.txt."""
    calls = ADD_FLOOR.findall(re.sub(r"#.*", "", text))
    if len(calls) != 1:
        raise ValueError(f"expected one add_floor(...), found {len(calls)}")
    words = calls[0].split()
    uses, list_name = [], ""
    for word in words[1:]:
        if word in KEYWORDS:
            list_name = word
        elif list_name == "USES":
            uses.append(word)
    return words[0], Floor(uses, "NO_BASE" in words)


def read_floors(src: Path, errors: list[str]) -> dict[str, Floor]:
    floors = {}
    for cmake_file in sorted(src.glob("*/CMakeLists.txt")):
        try:
            name, floor = parse_add_floor(cmake_file.read_text())
        except ValueError as error:
            errors.append(f"{cmake_file}: {error}")
            continue
        if name != cmake_file.parent.name:
            errors.append(f"{cmake_file}: the floor {name} stands in the folder {cmake_file.parent.name}")
        floors[name] = floor
    return floors


def check_order(src: Path, floors: dict[str, Floor], errors: list[str]) -> None:
    """Every floor uses only floors that src/CMakeLists.txt lists before it, so there is no cycle either."""
    cmake_file = src / "CMakeLists.txt"
    found = FOREACH_FLOOR.search(cmake_file.read_text())
    order = found.group(1).split() if found else []
    for name in sorted(floors.keys() - set(order)):
        errors.append(f"{cmake_file}: the floor {name} is missing from foreach(floor ...)")
    for name in sorted(set(order) - floors.keys()):
        errors.append(f"{cmake_file}: {name} is no folder with an add_floor(...)")
    for index, name in enumerate(order):
        for used in floors[name].uses if name in floors else []:
            if used not in order[:index]:
                errors.append(f"{src / name / 'CMakeLists.txt'}: {name} USES {used}, which is not a lower floor")


def why_forbidden(name: str, floor: Floor, included: str, quoted: bool, floors: dict[str, Floor]) -> str:
    """Why a file of `floor` may not include `included`, or an empty string."""
    target = included.split("/")[0]
    if target not in floors or "/" not in included:
        return "is no header of a floor (write the path from src/)" if quoted else ""
    if not quoted:
        return "is ours: include it with quotes"
    if target == name:
        return ""
    if target == "base":
        return f"{name} may not include base" if floor.no_base else ""
    if target not in floor.uses:
        return f"{name} does not list {target} in its USES"
    allowed = HEADERS_ALLOWED.get((name, target))
    if allowed is not None and included not in allowed:
        return f"of {target}/, {name} may include only {', '.join(sorted(allowed))}"
    return ""


def check_includes(src: Path, floors: dict[str, Floor], errors: list[str]) -> int:
    files = [path for path in sorted(src.rglob("*")) if path.suffix in SOURCES]
    for path in files:
        name = path.relative_to(src).parts[0]
        if name not in floors:
            errors.append(f"{path}: stands on no floor")
            continue
        text = path.read_text()
        for match in INCLUDE.finditer(text):
            why = why_forbidden(name, floors[name], match.group(2), match.group(1) == '"', floors)
            if why:
                line = text.count("\n", 0, match.start(2)) + 1
                errors.append(f'{path}:{line}: "{match.group(2)}": {why}')
    return len(files)


def check_cuda(repository: Path, errors: list[str]) -> None:
    """No host code above the backend's rooms sees a CUDA type, so that another GPU's backend is one more folder."""
    rooms = tuple(str(repository / room) + "/" for room in CUDA_ROOMS)
    inside = tuple(room.split("/", 1)[1] + "/" for room in CUDA_ROOMS)
    for folder in ("src", "apps", "tests", "bench", "fuzz"):
        for path in sorted((repository / folder).rglob("*")):
            if path.suffix not in SOURCES or str(path).startswith(rooms):
                continue
            text = path.read_text()
            for match in INCLUDE.finditer(text):
                included = match.group(2)
                if CUDA_HEADER.match(included):
                    why = "is a header of CUDA"
                elif included.startswith(inside) and included not in CUDA_DOORS:
                    why = f"is not among {', '.join(sorted(CUDA_DOORS))}"
                else:
                    continue
                line = text.count("\n", 0, match.start(2)) + 1
                errors.append(f'{path}:{line}: "{included}": {why}, and only {", ".join(CUDA_ROOMS)} know CUDA')


def main(repository: str) -> int:
    src = Path(repository) / "src"
    errors: list[str] = []
    floors = read_floors(src, errors)
    check_order(src, floors, errors)
    count = check_includes(src, floors, errors)
    check_cuda(Path(repository), errors)
    if count == 0:
        errors.append(f"{src}: no source file found")
    print(*errors, sep="\n", end="\n" if errors else "")
    print(f"{count} files on {len(floors)} floors, {len(errors)} violations")
    return 1 if errors else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
