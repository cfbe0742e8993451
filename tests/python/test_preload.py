# SPDX-License-Identifier: Apache-2.0
"""test_preload.py LIBSAMEBITS_CBLAS: NumPy with the CBLAS layer preloaded gives the bits of the chosen order.

Starts itself again under LD_PRELOAD, once for each order; the child multiplies with NumPy, the parent asks the samebits
program for the same products and compares bits."""
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)

ORDERS = ["fma", "mul", "reverse > fma", "chunks(16) > fma", "lanes(8, fold=halves, tail=chain) > mul", "exact"]


def cases():
    """name, a, b, and what NumPy is asked for."""
    rng = numpy.random.default_rng(7)
    for dtype in ("f4", "f8"):
        def normal(*shape):
            return rng.standard_normal(shape).astype(dtype)
        for m, n, k in ((6, 7, 5), (64, 48, 100), (33, 17, 129), (2, 100, 64)):
            yield f"gemm-{m}-{n}-{k}-{dtype}", normal(m, k), normal(k, n)
        yield f"gemm-transposed-{dtype}", normal(40, 13).T, normal(9, 40).T
        yield f"gemv-{dtype}", normal(31, 77), normal(77)
        yield f"gemv-left-{dtype}", normal(77), normal(77, 31)
        yield f"dot-{dtype}", normal(1001), normal(1001)
        x = normal(20, 51)
        yield f"syrk-{dtype}", x, x.T
        yield f"batch-{dtype}", normal(3, 8, 30), normal(30, 5)


def child(folder):
    for name, a, b in cases():
        numpy.save(folder / f"{name}.npy", a @ b)


def parent(library):
    program, failed, products, distinct = os.environ["SAMEBITS_PROGRAM"], 0, 0, set()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for order in ORDERS:
            environment = dict(os.environ, LD_PRELOAD=library, SAMEBITS_ORDER=order)
            subprocess.run([sys.executable, __file__, "--child", name], env=environment, check=True)
            distinct.add((folder / "gemm-33-17-129-f4.npy").read_bytes())
            for case, a, b in cases():
                numpy.save(folder / "a.npy", numpy.ascontiguousarray(numpy.atleast_2d(a)))
                numpy.save(folder / "b.npy", numpy.ascontiguousarray(b if b.ndim > 1 else b[:, None]))
                subprocess.run([program, "gemm", str(folder / "a.npy"), str(folder / "b.npy"), "-o", str(folder / "c.npy"),
                                "--order", order, "--quiet"], check=True)
                ours, theirs = numpy.load(folder / "c.npy"), numpy.load(folder / f"{case}.npy")
                products += 1
                if ours.tobytes() != theirs.reshape(ours.shape).tobytes():
                    failed += 1
                    print(f"{order}, {case}: {numpy.count_nonzero(ours != theirs.reshape(ours.shape))} of {ours.size} differ")
    # NumPy must have changed with the order, or nothing was preloaded.
    if len(distinct) != len(ORDERS):
        failed += 1
        print(f"{len(ORDERS)} orders gave {len(distinct)} different results")
    print(f"{products} products in {len(ORDERS)} orders, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(parent(sys.argv[1]))
