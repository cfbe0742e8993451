# SPDX-License-Identifier: Apache-2.0
"""check_layers.py SRC: a folder of src/ includes only from itself and from folders to its left."""
import pathlib
import re
import sys

LAYERS = "order reference io cpu cuda gemm backends profiles explain report capi cli".split()
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)

src = pathlib.Path(sys.argv[1])
errors, files = [], 0
for path in sorted(src.rglob("*")):
    if path.suffix not in (".h", ".cc", ".c", ".cu", ".cuh", ".inc", ".in"):
        continue
    files += 1
    layer = path.relative_to(src).parts[0]
    if layer not in LAYERS:
        errors.append(f"{path}: {layer} is not a layer")
        continue
    for name in INCLUDE.findall(path.read_text()):
        target = name.split("/")[0]
        if "/" in name and target in LAYERS and LAYERS.index(target) > LAYERS.index(layer):
            errors.append(f"{path.relative_to(src)} includes {name}: {target} stands to the right of {layer}")
        if name.startswith(".."):
            errors.append(f"{path.relative_to(src)} includes {name}: name it from src/")
print("\n".join(errors) or f"{files} files, all includes point left")
sys.exit(bool(errors) or files == 0)
