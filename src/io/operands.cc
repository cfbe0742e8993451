// SPDX-License-Identifier: Apache-2.0
#include "io/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace samebits::io {
namespace {

using Shape = std::vector<Index>;

std::string text(const Shape& shape) {
  Array array;
  array.shape = shape;
  return array.shape_text();
}

[[noreturn]] void invalid(const std::string& message) {
  throw Error(Code::invalid_argument, message);
}

Index product(std::span<const Index> sizes) {
  Index n = 1;
  for (const Index size : sizes)
    if (__builtin_mul_overflow(n, size, &n)) invalid("the result has more than 2^63 elements");
  return n;
}

Shape broadcast_shape(const Shape& x, const Shape& y) {
  const std::size_t d = std::max(x.size(), y.size());
  Shape out(d);
  for (std::size_t i = 0; i < d; ++i) {
    const Index p = i + x.size() < d ? 1 : x[i + x.size() - d], q = i + y.size() < d ? 1 : y[i + y.size() - d];
    if (p != q && p != 1 && q != 1) invalid(fmt::format("{} and {} cannot be broadcast together", text(x), text(y)));
    out[i] = p == 1 ? q : p;
  }
  return out;
}

// For each index of `to` in C order: the offset, in items, of the item of `from` that stands there.
std::vector<Index> broadcast_offsets(const Shape& from, const Shape& to) {
  Shape stride(to.size(), 0);
  Index step = 1;
  for (std::size_t d = from.size(); d-- > 0; step *= from[d])
    if (from[d] != 1) stride[d + to.size() - from.size()] = step;
  std::vector<Index> offsets(product(to));
  Shape index(to.size());
  Index at = 0;
  for (Index& offset : offsets) {
    offset = at;
    for (std::size_t d = to.size(); d-- > 0;) {
      at += stride[d];
      if (++index[d] < to[d]) break;
      at -= stride[d] * to[d];
      index[d] = 0;
    }
  }
  return offsets;
}

template <class T>
std::vector<T> broadcast(const Array& x, const std::vector<T>& data, const Shape& shape) {
  if (broadcast_shape(x.shape, shape) != shape)
    invalid(fmt::format("{} does not broadcast to {}", text(x.shape), text(shape)));
  std::vector<T> out;
  for (const Index offset : broadcast_offsets(x.shape, shape)) out.push_back(data[offset]);
  return out;
}

}  // namespace

Operands operands(const Array& a, const Array& b, Reading reading) {
  if (a.dtype() != b.dtype()) invalid(fmt::format("A is {}, B is {}", name(a.stored), name(b.stored)));
  if (a.shape.empty() || b.shape.empty()) invalid("a scalar is not a matrix");
  Operands out;
  out.a_shape = a.shape;
  out.b_shape = b.shape;
  out.a_contiguous = !a.fortran || a.shape.size() < 2;
  out.b_contiguous = !b.fortran || b.shape.size() < 2;
  const bool a_vector = a.shape.size() == 1, b_vector = b.shape.size() == 1;
  reading.trans_a &= !a_vector;
  reading.trans_b &= !b_vector;
  out.reading = reading;

  // Last two axes, and what leads them.
  Shape a_lead = a.shape, b_lead = b.shape;
  const auto pop = [](Shape& shape) {
    const Index n = shape.back();
    shape.pop_back();
    return n;
  };
  Index a_inner = pop(a_lead), a_outer = a_vector ? 1 : pop(a_lead);
  Index b_inner = pop(b_lead), b_outer = b_vector ? 1 : pop(b_lead);
  if (b_vector) std::swap(b_inner, b_outer);  // k x 1
  out.m = reading.trans_a ? a_inner : a_outer;
  out.k = reading.trans_a ? a_outer : a_inner;
  out.n = reading.trans_b ? b_outer : b_inner;
  if (const Index k = reading.trans_b ? b_inner : b_outer; k != out.k)
    invalid(fmt::format("A {}{} and B {}{} do not fit: k is {} and {}", text(a.shape), reading.trans_a ? " transposed" : "",
                        text(b.shape), reading.trans_b ? " transposed" : "", out.k, k));

  out.c_shape = broadcast_shape(a_lead, b_lead);
  const Index a_size = out.m * out.k, b_size = out.k * out.n;
  if (b.shape.size() <= 2 && !reading.trans_a) {
    out.m *= product(a_lead);
    out.a_offset = out.b_offset = {0};
  } else {
    out.count = product(out.c_shape);
    out.a_offset = broadcast_offsets(a_lead, out.c_shape);
    out.b_offset = broadcast_offsets(b_lead, out.c_shape);
    for (Index& offset : out.a_offset) offset *= a_size;
    for (Index& offset : out.b_offset) offset *= b_size;
  }
  if (!a_vector) out.c_shape.push_back(reading.trans_a ? a_inner : a_outer);
  if (!b_vector) out.c_shape.push_back(out.n);
  product(out.c_shape);  // does not overflow
  return out;
}

std::vector<Reading> readings(const Array& a, const Array& b, const std::optional<Shape>& c) {
  std::vector<Reading> fit;
  for (const Reading reading : {Reading{false, false}, Reading{false, true}, Reading{true, false}, Reading{true, true}}) {
    try {
      const Operands x = operands(a, b, reading);
      if (x.reading == reading && (!c || x.c_shape == *c)) fit.push_back(reading);
    } catch (const Error& error) {
      if (error.code() != Code::invalid_argument) throw;
    }
  }
  return fit;
}

std::vector<float> broadcast_f32(const Array& x, const Shape& shape) {
  return broadcast(x, x.f32, shape);
}
std::vector<double> broadcast_f64(const Array& x, const Shape& shape) {
  return broadcast(x, x.f64, shape);
}

}  // namespace samebits::io
