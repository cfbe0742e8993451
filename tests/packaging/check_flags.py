# SPDX-License-Identifier: Apache-2.0
"""check_flags.py COMPILE_COMMANDS ROOT: every file of ours is compiled with -ffp-contract=off, none with fast-math."""
import json
import re
import sys

FORBIDDEN = re.compile(r"-(ffast-math|Ofast|funsafe-math-optimizations|fassociative-math|freciprocal-math|ffinite-math-only"
                       r"|fno-signed-zeros|fno-rounding-math|ffp-contract=(?:fast|on)|use_fast_math)\b")

commands, root = json.load(open(sys.argv[1])), sys.argv[2]
errors, files = [], 0
for entry in commands:
    path, command = entry["file"], entry["command"]
    # The contraction test has a control with the other flag; examples are compiled as users compile.
    ours = any(path.startswith(f"{root}/{folder}/") for folder in ("src", "tests", "bench"))
    if not ours or path.endswith("tests/packaging/contraction.cc"):
        continue
    files += 1
    found = FORBIDDEN.search(command)
    if found:
        errors.append(f"{path}: compiled with {found.group()}")
    needed = "-fmad=false" if path.endswith(".cu") and "nvcc" in command.split()[0] else "-ffp-contract=off"
    if needed not in command:
        errors.append(f"{path}: compiled without {needed}")
print("\n".join(errors) or f"{files} files, all without contraction and fast-math")
sys.exit(bool(errors) or files == 0)
