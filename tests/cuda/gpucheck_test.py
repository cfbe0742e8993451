# SPDX-License-Identifier: Apache-2.0
"""gpucheck_test.py PROGRAM: without a GPU it says so, in words, in its exit status and in its JSON."""
import json
import os
import subprocess
import sys
import tempfile

if os.path.exists("/dev/nvidiactl"):
    print("skipped: there is a GPU")
    sys.exit(77)
size = os.path.getsize(sys.argv[1])
assert size < 60e6, f"{size} bytes"
needed = subprocess.run(["ldd", sys.argv[1]], capture_output=True, text=True, check=True).stdout
for library in ("libcudart", "libcublas", "libfmt", "libstdc++"):
    assert library not in needed, needed
with tempfile.TemporaryDirectory() as folder:
    out = os.path.join(folder, "result.json")
    result = subprocess.run([sys.argv[1], "--out", out], capture_output=True, text=True)
    assert result.returncode == 3, result
    assert "no GPU" in result.stderr, result
    report = json.load(open(out))
    assert report["schema"] == 1 and report["device"] is None and report["reason"], report
    assert "steps" not in report, report
assert subprocess.run([sys.argv[1], "--fast"], capture_output=True).returncode == 2
