# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's MatMul as a backend: samebits probe 'command(loop=yes):python3 examples/loop_onnxruntime.py' -m 6 -n 7 -k 37"""
import os
import sys

import numpy as np
import onnxruntime as ort


def field(number, value):  # of a protobuf message; all of ours are short
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def session(element_type):
    tensors = [field(1, name) + field(2, field(1, field(1, element_type))) for name in (b"a", b"b", b"y")]
    node = field(1, b"a") + field(1, b"b") + field(2, b"y") + field(4, b"MatMul")
    graph = field(1, node) + field(2, b"g") + field(11, tensors[0]) + field(11, tensors[1]) + field(12, tensors[2])
    options = ort.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    return ort.InferenceSession(field(1, 7) + field(7, graph) + field(8, field(1, b"") + field(2, 13)), options, ["CPUExecutionProvider"])


sessions = {np.dtype("f4"): session(1), np.dtype("f8"): session(11)}
for line in sys.stdin:
    a, b, c = line.rstrip("\n").split("\t")
    a, b = (np.ascontiguousarray(np.load(path)) for path in (a, b))
    np.save(c, sessions[a.dtype].run(None, {"a": a, "b": b})[0])
    print("ok", flush=True)
