// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "io/operands.h"

namespace samebits::io {
namespace {

using Shape = std::vector<Index>;

Array array(Shape shape) {
  Array x;
  x.shape = std::move(shape);
  Index n = 1;
  for (const Index s : x.shape) n *= s;
  x.f32.resize(n);
  std::iota(x.f32.begin(), x.f32.end(), 0.0f);
  return x;
}

std::string error(const Array& a, const Array& b, Reading reading = {}) {
  try {
    operands(a, b, reading);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::invalid_argument);
    return e.what();
  }
  return "no error";
}

TEST(Operands, LeadingDimensionsAreRowsOfOneProduct) {
  const Array x = array({2, 3, 5}), w = array({7, 5});
  const Operands o = operands(x, w, {false, true});
  EXPECT_EQ(o.m, 6);
  EXPECT_EQ(o.n, 7);
  EXPECT_EQ(o.k, 5);
  EXPECT_EQ(o.count, 1);
  EXPECT_EQ(o.c_shape, (Shape{2, 3, 7}));
  EXPECT_EQ(o.a_shape, (Shape{2, 3, 5}));
  EXPECT_EQ(o.a(x.f32.data())(4, 2), 22);
  EXPECT_EQ(o.b(w.f32.data())(2, 4), 22);
}

TEST(Operands, BatchesAreBroadcast) {
  const Array a = array({2, 1, 3, 4}), b = array({5, 4, 6});
  const Operands o = operands(a, b, {});
  EXPECT_EQ(o.count, 10);
  EXPECT_EQ(o.m, 3);
  EXPECT_EQ(o.c_shape, (Shape{2, 5, 3, 6}));
  EXPECT_EQ(o.a_offset, (Shape{0, 0, 0, 0, 0, 12, 12, 12, 12, 12}));
  EXPECT_EQ(o.b_offset, (Shape{0, 24, 48, 72, 96, 0, 24, 48, 72, 96}));
  EXPECT_EQ(o.b(b.f32.data(), 6)(1, 0), 30);
  // A matrix A beside a batch of B's.
  EXPECT_EQ(operands(array({3, 4}), b, {}).a_offset, (Shape{0, 0, 0, 0, 0}));
  // A batch of A's that are stored transposed cannot be one product.
  const Operands t = operands(array({2, 4, 3}), array({4, 6}), {true, false});
  EXPECT_EQ(t.count, 2);
  EXPECT_EQ(t.c_shape, (Shape{2, 3, 6}));
  EXPECT_EQ(t.b_offset, (Shape{0, 0}));
}

TEST(Operands, Vectors) {
  const Operands row = operands(array({5}), array({5, 7}), {});
  EXPECT_EQ(row.c_shape, Shape{7});
  EXPECT_EQ(row.m, 1);
  const Operands column = operands(array({2, 3, 5}), array({5}), {});
  EXPECT_EQ(column.c_shape, (Shape{2, 3}));
  EXPECT_EQ(column.m, 6);
  EXPECT_EQ(column.n, 1);
  const Operands dot = operands(array({5}), array({5}), {});
  EXPECT_EQ(dot.c_shape, Shape{});
}

TEST(Operands, TransposedA) {
  const Array a = array({4, 3});
  const Operands o = operands(a, array({4, 2}), {true, false});
  EXPECT_EQ(o.m, 3);
  EXPECT_EQ(o.k, 4);
  EXPECT_EQ(o.a(a.f32.data())(1, 2), 7);
}

TEST(Operands, ReadingsThatTheShapesAllow) {
  EXPECT_EQ(readings(array({2, 3, 5}), array({7, 5})), (std::vector<Reading>{{false, true}}));
  EXPECT_EQ(readings(array({6, 5}), array({5, 5}), Shape{6, 5}), (std::vector<Reading>{{false, false}, {false, true}}));
  EXPECT_EQ(readings(array({5, 5}), array({5, 5})).size(), 4u);
  // The result's shape decides.
  EXPECT_EQ(readings(array({5, 5}), array({5, 3}), Shape{5, 3}), (std::vector<Reading>{{false, false}, {true, false}}));
  EXPECT_TRUE(readings(array({6, 5}), array({4, 3})).empty());
  EXPECT_EQ(readings(array({5}), array({5})), (std::vector<Reading>{{false, false}}));
}

TEST(Operands, MisfitsAreErrorsWithTheShapes) {
  EXPECT_EQ(error(array({6, 5}), array({7, 5})), "A (6, 5) and B (7, 5) do not fit: k is 5 and 7");
  EXPECT_EQ(error(array({6, 5}), array({5, 7}), {true, true}),
            "A (6, 5) transposed and B (5, 7) transposed do not fit: k is 6 and 7");
  EXPECT_EQ(error(array({2, 3, 4}), array({3, 4, 5})), "(2,) and (3,) cannot be broadcast together");
  EXPECT_EQ(error(array({}), array({5})), "a scalar is not a matrix");
  Array d = array({5, 7});
  d.stored = Stored::f64;
  EXPECT_EQ(error(array({6, 5}), d), "A is float32, B is float64");
}

TEST(Operands, ABiasIsBroadcast) {
  EXPECT_EQ(broadcast_f32(array({3}), {2, 3}), (std::vector<float>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(broadcast_f32(array({2, 1}), {2, 3}), (std::vector<float>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(broadcast_f32(array({}), {2}), (std::vector<float>{0, 0}));
  EXPECT_THROW(broadcast_f32(array({2}), {2, 3}), Error);
  EXPECT_THROW(broadcast_f32(array({2, 3}), {3}), Error);
}

}  // namespace
}  // namespace samebits::io
