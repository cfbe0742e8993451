# SPDX-License-Identifier: Apache-2.0
"""The Python module, against sums whose bits are known and against the samebits program."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)

import samebits

PROGRAM = os.environ["SAMEBITS_PROGRAM"]


def bits(x):
    return numpy.ascontiguousarray(x).view(f"u{x.itemsize}").tolist()


class Orders(unittest.TestCase):
    def test_text(self):
        order = samebits.Order("chunks( 4 )>fma")
        self.assertEqual(str(order), "chunks(4) > fma")
        self.assertEqual(order, samebits.Order(str(order)))
        self.assertTrue(order.equivalent(samebits.Order("fma"), 4))
        self.assertFalse(order.equivalent(samebits.Order("fma"), 6))
        self.assertTrue(order.describe())

    def test_error(self):
        with self.assertRaises(samebits.Error) as caught:
            samebits.Order("chunks(256) > fmaa")
        self.assertEqual(caught.exception.status, "syntax error")
        self.assertEqual(caught.exception.column, 15)


class Gemm(unittest.TestCase):
    def test_order_decides(self):
        a, b = numpy.float32([[1e8, 1, -1e8]]), numpy.float32([[1], [1], [1]])
        self.assertEqual(samebits.gemm(a, b)[0, 0], 0)
        self.assertEqual(samebits.gemm(a, b, order="tree(0 + 2 + 1) > mul")[0, 0], 1)

    def test_layouts_and_batches(self):
        rng = numpy.random.default_rng(1)
        for dtype in (numpy.float32, numpy.float64):
            a = rng.standard_normal((3, 4, 33)).astype(dtype)
            b = rng.standard_normal((33, 5)).astype(dtype)
            order = samebits.Order("lanes(8, fold=halves) > fma")
            c = samebits.gemm(a, b, order=order)
            self.assertEqual(c.shape, (3, 4, 5))
            same = {"rows alone": numpy.stack([samebits.gemm(x, b, order=order) for x in a]),
                    "transposed storage": samebits.gemm(numpy.asfortranarray(a), numpy.asfortranarray(b), order=order),
                    "reversed strides": samebits.gemm(a[::-1, ::-1], b[:, ::-1], order=order)[::-1, ::-1, ::-1],
                    "batch of b": samebits.gemm(a, numpy.stack([b] * 3), order=order),
                    "vector": numpy.stack([[samebits.gemm(r, b, order=order) for r in x] for x in a]),
                    "threads": samebits.gemm(a, b, order=order, threads=2)}
            for name, other in same.items():
                self.assertEqual(bits(c), bits(other), name)

    def test_epilogue(self):
        a, b = numpy.ones((2, 3)), numpy.ones((3, 2))
        c = samebits.gemm(a, b, alpha=2, beta=1, c=numpy.full((2, 2), 10.0), bias=[1.0, 2.0])
        self.assertEqual(c.tolist(), [[17, 18], [17, 18]])

    def test_the_program_gives_the_same(self):
        rng = numpy.random.default_rng(2)
        a, b = rng.standard_normal((6, 50)).astype("f4"), rng.standard_normal((50, 7)).astype("f4")
        order = "chunks(16) > mul"
        with tempfile.TemporaryDirectory() as folder:
            files = [str(pathlib.Path(folder, name)) for name in ("a.npy", "b.npy", "c.npy")]
            numpy.save(files[0], a), numpy.save(files[1], b)
            subprocess.run([PROGRAM, "gemm", files[0], files[1], "-o", files[2], "--order", order, "--quiet"], check=True)
            self.assertEqual(bits(numpy.load(files[2])), bits(samebits.gemm(a, b, order=order)))

    def test_wrong_arguments(self):
        with self.assertRaises(ValueError):
            samebits.gemm(numpy.ones((2, 3)), numpy.ones((4, 2)))
        with self.assertRaises(TypeError):
            samebits.gemm(numpy.ones((2, 3), int), numpy.ones((3, 2), int))
        with self.assertRaises(samebits.Error):
            samebits.gemm(numpy.ones((2, 3)), numpy.ones((3, 2)), isa="unheard-of")


class Kernels(unittest.TestCase):
    def test_listed(self):
        self.assertTrue(any(k["built"] and k["supported"] for k in samebits.kernels()))


if __name__ == "__main__":
    unittest.main()
