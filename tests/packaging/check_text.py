# SPDX-License-Identifier: Apache-2.0
"""check_text.py ROOT: licence lines, links between pages, and the README's example as the examples folder compiles it."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
errors = []
listing = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True).stdout.split("\n")
files = [root / f for f in listing if f] or [p for p in root.rglob("*") if p.is_file() and "build" not in p.parts[len(root.parts)]]

CODE = {".h", ".cc", ".c", ".cu", ".cuh", ".py", ".cmake"}
for path in files:
    if not path.exists():
        continue
    if path.suffix in CODE or path.name in ("CMakeLists.txt", "run"):
        if "SPDX-License-Identifier: Apache-2.0" not in path.read_text()[:200]:
            errors.append(f"{path.relative_to(root)}: no SPDX line")
    if path.suffix == ".md":
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            if not (path.parent / target).exists():
                errors.append(f"{path.relative_to(root)}: link to {target}, which does not exist")

readme, example = root / "README.md", root / "examples/readme.cc"
if readme.exists() and example.exists():
    body = example.read_text().split("\n", 1)[1].strip()  # without the SPDX line
    if body not in readme.read_text():
        errors.append("README.md does not contain examples/readme.cc")
print("\n".join(errors) or f"{len(files)} files")
sys.exit(bool(errors))
