# SPDX-License-Identifier: Apache-2.0
"""NumPy as a backend: samebits probe 'command(loop=yes):python3 examples/loop_numpy.py' -m 6 -n 7 -k 37"""
import sys

import numpy as np

for line in sys.stdin:
    a, b, c = line.rstrip("\n").split("\t")
    np.save(c, np.load(a) @ np.load(b))
    print("ok", flush=True)
