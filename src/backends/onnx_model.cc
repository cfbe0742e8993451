// SPDX-License-Identifier: Apache-2.0
#include "backends/onnx_model.h"

#include <cstring>
#include <initializer_list>

namespace samebits::adapters {
namespace {

// The three wire types of protobuf that ONNX needs here. Field numbers below are those of onnx.proto.
class Message {
 public:
  Message& integer(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 0);
    varint(value);
    return *this;
  }
  Message& bytes(int field, const void* data, std::size_t size) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(size);
    text_.append(static_cast<const char*>(data), size);
    return *this;
  }
  Message& string(int field, const std::string& value) { return bytes(field, value.data(), value.size()); }
  Message& message(int field, const Message& value) { return string(field, value.text_); }
  Message& real(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>(value | 0x80));
    text_.push_back(static_cast<char>(value));
  }
  std::string text_;
};

int element_type(DType type) {
  return type == DType::f32 ? 1 : 11;
}  // TensorProto.FLOAT, DOUBLE

Message value_info(const char* name, DType type, std::initializer_list<Index> shape) {
  Message dims;
  for (const Index d : shape) dims.message(1, Message().integer(1, static_cast<std::uint64_t>(d)));
  Message tensor;
  tensor.integer(1, element_type(type)).message(2, dims);
  Message info;
  info.string(1, name).message(2, Message().message(1, tensor));
  return info;
}

Message attribute(const char* name, float value) {
  return Message().string(1, name).real(2, value).integer(20, 1);
}
Message attribute(const char* name, bool value) {
  return Message().string(1, name).integer(3, value).integer(20, 2);
}

}  // namespace

std::string onnx_model(const OnnxModel& x) {
  const Index b_rows = x.trans_b ? x.n : x.k, b_cols = x.trans_b ? x.k : x.n;
  Message node;
  node.string(1, "a").string(1, "b");
  if (x.gemm && x.beta != 0) node.string(1, "c");
  node.string(2, "y").string(3, "product").string(4, x.gemm ? "Gemm" : "MatMul");
  if (x.gemm) {
    node.message(5, attribute("alpha", x.alpha)).message(5, attribute("beta", x.beta));
    node.message(5, attribute("transA", x.trans_a)).message(5, attribute("transB", x.trans_b));
  }
  Message graph;
  graph.message(1, node).string(2, "samebits");
  if (x.constant_b != nullptr) {
    Message tensor;
    tensor.integer(1, static_cast<std::uint64_t>(b_rows)).integer(1, static_cast<std::uint64_t>(b_cols));
    tensor.integer(2, element_type(x.dtype)).string(8, "b");
    tensor.bytes(9, x.constant_b, static_cast<std::size_t>(b_rows * b_cols) * (x.dtype == DType::f32 ? 4 : 8));
    graph.message(5, tensor);
  }
  graph.message(11, x.trans_a ? value_info("a", x.dtype, {x.k, x.m}) : value_info("a", x.dtype, {x.m, x.k}));
  if (x.constant_b == nullptr) graph.message(11, value_info("b", x.dtype, {b_rows, b_cols}));
  if (x.gemm && x.beta != 0) graph.message(11, value_info("c", x.dtype, {x.m, x.n}));
  graph.message(12, value_info("y", x.dtype, {x.m, x.n}));
  Message model;
  model.integer(1, 7).message(7, graph).message(8, Message().string(1, "").integer(2, 13));
  return model.text();
}

}  // namespace samebits::adapters
