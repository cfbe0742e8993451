// SPDX-License-Identifier: Apache-2.0
// The bytes of the model, read back field by field.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "backends/onnx_model.h"

namespace samebits::adapters {
namespace {

struct Fields {
  std::multimap<int, std::string> bytes;
  std::multimap<int, std::uint64_t> numbers;
  std::multimap<int, float> floats;
};

Fields parse(const std::string& text) {
  Fields out;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0; at < text.size(); shift += 7) {
      const auto b = static_cast<unsigned char>(text[at++]);
      value |= std::uint64_t(b & 0x7f) << shift;
      if (b < 0x80) return value;
    }
    ADD_FAILURE() << "a number runs past the end";
    return value;
  };
  while (at < text.size()) {
    const auto key = varint();
    const int field = static_cast<int>(key >> 3);
    if ((key & 7) == 0) {
      out.numbers.emplace(field, varint());
    } else if ((key & 7) == 5) {
      float value;
      std::memcpy(&value, text.data() + at, 4);
      at += 4;
      out.floats.emplace(field, value);
    } else {
      EXPECT_EQ(key & 7, 2u);
      const auto size = varint();
      if (at + size > text.size()) {
        ADD_FAILURE() << "a message runs past the end";
        return out;
      }
      out.bytes.emplace(field, text.substr(at, size));
      at += size;
    }
  }
  return out;
}

TEST(OnnxModel, MatMulWithAConstant) {
  std::vector<float> b(3 * 300, 1.5f);
  b[899] = -2;
  OnnxModel model;
  model.m = 2, model.n = 300, model.k = 3, model.constant_b = b.data();
  const auto root = parse(onnx_model(model));
  EXPECT_EQ(root.numbers.find(1)->second, 7u);
  const auto graph = parse(root.bytes.find(7)->second);
  const auto node = parse(graph.bytes.find(1)->second);
  EXPECT_EQ(node.bytes.find(4)->second, "MatMul");
  EXPECT_EQ(graph.bytes.count(11), 1u);  // "a" alone is an input
  const auto tensor = parse(graph.bytes.find(5)->second);
  EXPECT_EQ(tensor.bytes.find(8)->second, "b");
  EXPECT_EQ(tensor.numbers.find(2)->second, 1u);
  ASSERT_EQ(tensor.bytes.find(9)->second.size(), 3600u);
  EXPECT_EQ(std::memcmp(tensor.bytes.find(9)->second.data(), b.data(), 3600), 0);
}

TEST(OnnxModel, GemmWithInputs) {
  OnnxModel model;
  model.dtype = DType::f64, model.m = 2, model.n = 4, model.k = 3, model.gemm = true, model.trans_b = true, model.alpha = 0.5f, model.beta = 2;
  const auto graph = parse(parse(onnx_model(model)).bytes.find(7)->second);
  EXPECT_EQ(graph.bytes.count(11), 3u);
  EXPECT_EQ(graph.bytes.count(5), 0u);
  const auto node = parse(graph.bytes.find(1)->second);
  EXPECT_EQ(node.bytes.find(4)->second, "Gemm");
  std::map<std::string, Fields> attributes;
  for (auto [it, end] = node.bytes.equal_range(5); it != end; ++it) {
    const auto a = parse(it->second);
    attributes[a.bytes.find(1)->second] = a;
  }
  EXPECT_EQ(attributes["alpha"].floats.find(2)->second, 0.5f);
  EXPECT_EQ(attributes["beta"].floats.find(2)->second, 2.0f);
  EXPECT_EQ(attributes["transA"].numbers.find(3)->second, 0u);
  EXPECT_EQ(attributes["transB"].numbers.find(3)->second, 1u);
}

}  // namespace
}  // namespace samebits::adapters
