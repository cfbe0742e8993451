# SPDX-License-Identifier: Apache-2.0
"""check_symbols.py NM ROOT LIBSAMEBITS LIBCBLAS: what the shared libraries export is what the public headers declare."""
import pathlib
import re
import subprocess
import sys

nm, root, library, cblas = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
errors = []


def exported(path):
    lines = subprocess.run([nm, "-DC", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    return [line.split(" ", 2)[1:] for line in lines.splitlines()]


def c_names(header):
    return set(re.findall(r"\b(samebits_\w+)\(", (root / "include/samebits" / header).read_text()))


headers = sorted((root / "include/samebits").glob("*.h"))
public = "".join(h.read_text() for h in headers)
for header in headers:
    text = header.read_text()
    if "namespace samebits::testing" in text:
        continue  # all inline, for users' tests
    if "namespace" in text and 'namespace [[gnu::visibility("default")]] samebits' not in text:
        errors.append(f'{header.name}: write `namespace [[gnu::visibility("default")]] samebits`, or nothing in it is exported')

# Inner namespaces are internal.
internal = {d.name for d in (root / "src").iterdir()} | {"capi", "cli", "blas", "detail"}
for kind, name in exported(library):
    if re.search(r"\bsamebits::(\w+)::", name):
        inner = re.search(r"\bsamebits::(\w+)::", name).group(1)
        if inner in internal and f"namespace {inner}" not in public:
            errors.append(f"exported, but internal: {name}")
    elif not re.search(r"\bsamebits\b|samebits_|\bstd::|__gnu|fmt::|^_(init|fini|end|edata)|^__bss_start", name) and kind in "TDBR":
        errors.append(f"exported, but not of samebits: {name}")

c = {name for _, name in exported(library) if name.startswith("samebits_")}
if c != c_names("samebits.h"):
    errors.append(f"samebits.h and the library differ: {sorted(c ^ c_names('samebits.h'))}")

wanted = {"samebits_cblas_set_order"}
for prefix in ("", "scipy_"):
    for suffix in ("", "64_"):
        for s in "sd":
            for routine in ("gemm", "gemv", "dot", "syrk"):
                wanted |= {f"{prefix}cblas_{s}{routine}{suffix}", f"{prefix}{s}{routine}_{suffix}"}
found = {name for kind, name in exported(cblas) if kind in "TD"}
if found != wanted:
    errors.append(f"libsamebits_cblas exports differ: {sorted(found ^ wanted)}")

print("\n".join(errors) or f"{len(c)} C functions, C++ names and BLAS names as declared")
sys.exit(bool(errors))
