# SPDX-License-Identifier: Apache-2.0
"""Matrix products in a chosen accumulation order, on NumPy arrays.

    import numpy, samebits
    c = samebits.gemm(a, b, order="chunks(256) > fma")   # the same bits on every CPU, thread count and batch size

The order language is described in docs/orders.md. Arrays are float32 or float64, with any strides. The shared library is
looked for at $SAMEBITS_LIBRARY, in build/lib of a source tree that holds this package, then where the system finds libraries.
"""
import ctypes
import os
import pathlib

import numpy

__all__ = ["Error", "Order", "gemm", "kernels", "version"]


def _load():
    if os.environ.get("SAMEBITS_LIBRARY"):
        return ctypes.CDLL(os.environ["SAMEBITS_LIBRARY"])
    in_tree = pathlib.Path(__file__).parents[2] / "build/lib/libsamebits.so.0"
    return ctypes.CDLL(str(in_tree) if in_tree.exists() else "libsamebits.so.0")


_lib = _load()
_handle, _size, _i64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64


class _Kernel(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("isa", ctypes.c_char_p), ("built", ctypes.c_int), ("supported", ctypes.c_int)]


def _declare(name, *arguments, result=ctypes.c_int):
    function = getattr(_lib, name)
    function.argtypes, function.restype = arguments, result
    return function


_text_out = (ctypes.c_char_p, _size, ctypes.POINTER(_size))
_declare("samebits_version", result=ctypes.c_char_p)
_declare("samebits_status_name", ctypes.c_int, result=ctypes.c_char_p)
_declare("samebits_error_message", result=ctypes.c_char_p)
_declare("samebits_error_column", result=_size)
_declare("samebits_order_parse", ctypes.c_char_p, ctypes.POINTER(_handle))
_declare("samebits_order_free", _handle, result=None)
_declare("samebits_order_text", _handle, *_text_out)
_declare("samebits_order_describe", _handle, *_text_out)
_declare("samebits_order_tree", _handle, _size, *_text_out)
_declare("samebits_order_equivalent", _handle, _handle, _size, ctypes.POINTER(ctypes.c_int))
_declare("samebits_context_create", ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_handle))
_declare("samebits_context_free", _handle, result=None)
_declare("samebits_kernel_count", result=_size)
_declare("samebits_kernel_get", _size, ctypes.POINTER(_Kernel))
for _s, _real in (("s", ctypes.c_float), ("d", ctypes.c_double)):
    _matrix = (_handle, _i64, _i64)
    _declare(f"samebits_{_s}plan_create", _handle, _handle, _i64, _i64, _i64, ctypes.POINTER(_handle))
    _declare(f"samebits_{_s}plan_free", _handle, result=None)
    _declare(f"samebits_{_s}plan_run", _handle, _i64, _i64, _i64, _real, *_matrix, *_matrix, _real, *_matrix, _handle, _i64)


class Error(ValueError):
    """What the library reports: `status` is its name, `column` (1-based) the place in a text that was parsed, else 0."""

    def __init__(self, status, message, column):
        super().__init__(message)
        self.status, self.column = status, column


def _check(status):
    if status:
        raise Error(_lib.samebits_status_name(status).decode(), _lib.samebits_error_message().decode(), _lib.samebits_error_column())


def _text(function, *arguments):
    length = _size()
    _check(function(*arguments, None, 0, ctypes.byref(length)))
    buffer = ctypes.create_string_buffer(length.value + 1)
    _check(function(*arguments, buffer, len(buffer), None))
    return buffer.value.decode()


class Order:
    """An accumulation order: Order("lanes(16, fold=halves) > fma"). str() gives its canonical text."""

    def __init__(self, text="fma"):
        self._handle = _handle()
        _check(_lib.samebits_order_parse(text.encode(), ctypes.byref(self._handle)))

    def __del__(self):
        if getattr(self, "_handle", None):
            _lib.samebits_order_free(self._handle)

    def __str__(self):
        return _text(_lib.samebits_order_text, self._handle)

    def __repr__(self):
        return f"Order({str(self)!r})"

    def __eq__(self, other):
        return isinstance(other, Order) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))

    def describe(self):
        """One line of English."""
        return _text(_lib.samebits_order_describe, self._handle)

    def tree(self, k):
        """The tree over 0..k-1 as text."""
        return _text(_lib.samebits_order_tree, self._handle, k)

    def equivalent(self, other, k):
        """True if both give the same bits for every input with this k."""
        result = ctypes.c_int()
        _check(_lib.samebits_order_equivalent(self._handle, other._handle, k, ctypes.byref(result)))
        return bool(result.value)


def version():
    return _lib.samebits_version().decode()


def kernels():
    """A list of dicts: name, isa, built (compiled in), supported (this CPU runs it)."""
    result, kernel = [], _Kernel()
    for i in range(_lib.samebits_kernel_count()):
        _check(_lib.samebits_kernel_get(i, ctypes.byref(kernel)))
        result.append({"name": kernel.name.decode(), "isa": kernel.isa.decode(), "built": bool(kernel.built),
                       "supported": bool(kernel.supported)})
    return result


def _strided(x):
    """x, or a copy where its strides are not whole elements."""
    return x if all(s % x.itemsize == 0 for s in x.strides) and x.flags.aligned and x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def _view(x):
    return x.ctypes.data, x.strides[0] // x.itemsize, x.strides[1] // x.itemsize


def gemm(a, b, order="fma", *, alpha=1.0, beta=0.0, c=None, bias=None, threads=0, isa=None):
    """alpha * (a @ b) + beta * c + bias, shapes as numpy.matmul forms them, a new array.

    a, b: float32 or float64, both the same. With a 2-D b the leading dimensions of a are rows of one product. bias: one value
    for each column. Neither threads nor isa changes a bit.
    """
    a, b = _strided(numpy.asarray(a)), _strided(numpy.asarray(b))
    if a.dtype != b.dtype or a.dtype not in (numpy.float32, numpy.float64):
        raise TypeError(f"a and b must both be float32 or both float64, not {a.dtype} and {b.dtype}")
    order = order if isinstance(order, Order) else Order(order)
    a_vector, b_vector = a.ndim == 1, b.ndim == 1
    a, b = (a[None, :] if a_vector else a), (b[:, None] if b_vector else b)
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"shapes do not fit: {a.shape} @ {b.shape}")
    batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    k, n = b.shape[-2:]
    shape = batch + (a.shape[-2], n)
    out = numpy.zeros(shape, a.dtype) if c is None else numpy.array(numpy.broadcast_to(c, shape), a.dtype, order="C")
    if bias is not None:
        bias = numpy.ascontiguousarray(numpy.broadcast_to(bias, (n,)), a.dtype)

    if b.ndim == 2:
        a = a.reshape(-1, k)  # a view where a's strides allow it
        products = [(a, b, out.reshape(-1, n))]
    else:
        a = numpy.broadcast_to(a, batch + a.shape[-2:])
        b = numpy.broadcast_to(b, batch + b.shape[-2:])
        products = [(a[i], b[i], out[i]) for i in numpy.ndindex(batch)]

    s = "s" if a.dtype == numpy.float32 else "d"
    context, plan = _handle(), _handle()
    m = products[0][2].shape[0] if products else 0
    _check(_lib.samebits_context_create(threads, isa.encode() if isa else None, ctypes.byref(context)))
    try:
        _check(getattr(_lib, f"samebits_{s}plan_create")(order._handle, context, m, n, k, ctypes.byref(plan)))
        for x, y, z in products:
            _check(getattr(_lib, f"samebits_{s}plan_run")(plan, m, n, k, alpha, *_view(x), *_view(y), beta, *_view(z),
                                                          None if bias is None else bias.ctypes.data, 1))
    finally:
        getattr(_lib, f"samebits_{s}plan_free")(plan)
        _lib.samebits_context_free(context)
    if a_vector:
        out = out[..., 0, :]
    return out[..., 0] if b_vector else out
