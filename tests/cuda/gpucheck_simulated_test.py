# SPDX-License-Identifier: Apache-2.0
"""gpucheck_simulated_test.py PROGRAM FAKE_CUBLAS: samebits-gpucheck from end to end, on the simulator and a stand-in for cuBLAS
that adds by one fma chain. What it finds about these two must be true."""
import json
import os
import subprocess
import sys
import tempfile

program, fake = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    for name in ("libcublas.so.13", "libcublasLt.so.13"):
        os.symlink(fake, os.path.join(folder, name))
    out = os.path.join(folder, "result.json")

    def run(environment, *arguments):
        result = subprocess.run([program, "--quick", "--out", out, *arguments], capture_output=True, text=True, env={**os.environ, **environment})
        print(result.stdout, result.stderr)
        return result.returncode, json.load(open(out))

    code, report = run({"LD_LIBRARY_PATH": folder})
    steps = report["steps"]
    assert report["device"]["name"] == "the simulator (no GPU)", report["device"]
    assert steps["kernels"]["status"] == "passed" and steps["kernels"]["cases"] > 100, steps["kernels"]
    results = steps["origin_case"]["results"]
    assert len(results) == 12 and all(r["reproduced"] for r in results), results
    for r in results:
        assert r["mode"] == "tf32" or r["held"] == (r["layout"] == "TN"), r  # one chain, for NN too: not what is predicted there
    assert steps["tf32"]["rounding"].startswith("none"), steps["tf32"]
    assert all(r["held"] for r in steps["shapes"]["results"]) and steps["shapes"]["results"], steps["shapes"]
    assert steps["speed"]["status"] == "passed" and all(r["ratio"] > 0 for r in steps["speed"]["results"]), steps["speed"]
    assert [b["backend"] for b in steps["determinism"]["backends"]] == ["cuda", "cublas"], steps["determinism"]
    assert steps["determinism"]["status"] == "passed", steps["determinism"]
    assert code == 0, {name: step["status"] for name, step in steps.items()}

    # Without cuBLAS our kernels are checked all the same.
    code, report = run({}, "--only", "tf32,determinism")
    steps = report["steps"]
    if "error" in steps["tf32"]:  # there is none on this machine
        assert code == 1 and steps["tf32"]["status"] == "failed", steps
        assert steps["determinism"]["status"] == "incomplete" and "clauses" in steps["determinism"]["backends"][0], steps["determinism"]
