# SPDX-License-Identifier: Apache-2.0
"""PyTorch as a backend: samebits probe 'command(loop=yes):python3 examples/loop_torch.py linear' -m 6 -n 7 -k 37 --tb"""
import sys

import numpy as np
import torch

multiply = {"mm": torch.mm, "linear": lambda x, b: torch.nn.functional.linear(x, b.T)}[sys.argv[1]]
for line in sys.stdin:
    a, b, c = line.rstrip("\n").split("\t")
    np.save(c, multiply(torch.from_numpy(np.load(a)), torch.from_numpy(np.load(b))).numpy())
    print("ok", flush=True)
