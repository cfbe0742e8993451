#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tables.py [TABLE...]: the tables of docs/performance.md, each also as JSON in build/bench/. Libraries from PyPI are those in
.venv, where ./run has put them."""
import os
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
small = ["6x7x5", "8x8x8", "16x16x16", "32x32x32", "48x48x48", "64x64x64", "100x100x100", "128x128x128"]
large = [f"{n}x{n}x{n}" for n in (256, 257, 512, 1000, 1024, 2048)]
thin = ["1x4096x4096", "8x4096x4096", "32x4096x4096", "4096x1x4096", "4096x8x4096", "4096x32x4096", "64x64x16384", "4096x4096x64"]
orders = ["fma", "chunks(128) > fma", "chunks(256) > fma", "lanes(16, fold=halves) > fma", "pairwise(64) > fma", "pairwise(8) > fma",
          "mul"]
tables = {
    "f32": [*small, *large, *thin, "--rounds", "5", "--cold"],
    "f64": [*small, *large, *thin, "--rounds", "5", "--f64", "--cold"],
    "f32-2": [*small[2:], *large, *thin, "--rounds", "5", "--threads", "2"],
    "avx2": [*large, "--rounds", "5", "--isa", "avx2", "--without", "all"],
    "orders": ["512x512x512", "1024x1024x1024", "2048x2048x2048", "--rounds", "9", "--without", "all",
               *(word for order in orders for word in ("--order", order))],
}

environment = dict(os.environ)
environment["MKL_THREADING_LAYER"] = "INTEL"
venv = root / ".venv"
peers = []
if mkl := next(venv.glob("lib/libmkl_rt.so*"), None):
    peers += ["--peer", f"mkl={mkl}"]
    environment["LD_LIBRARY_PATH"] = f"{mkl.parent}:{environment.get('LD_LIBRARY_PATH', '')}"
if openblas := next(venv.glob("lib/python3*/site-packages/scipy_openblas32/lib/libscipy_openblas.so"), None):
    peers += ["--peer", f"openblas2={openblas}"]

for name in sys.argv[1:] or tables:
    print(f"\n== {name}", flush=True)
    command = [root / "build/bench/samebits_compare", *tables[name], *peers, "--json", root / f"build/bench/{name}.json"]
    subprocess.run(command, check=True, env=environment)
