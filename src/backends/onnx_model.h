// SPDX-License-Identifier: Apache-2.0
// A one-node ONNX model as bytes, written without protobuf.
#pragma once

#include <string>

#include "samebits/matrix.h"

namespace samebits::adapters {

struct OnnxModel {
  DType dtype = DType::f32;
  Index m = 0, n = 0, k = 0;
  bool gemm = false;               // a Gemm node, else MatMul
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 0;       // Gemm only; beta != 0 adds the input "c", m x n
  const void* constant_b = nullptr;  // values of B as stored, an initializer; null: B is the input "b"
};

// Inputs "a", then "b" and "c" where they exist; output "y".
std::string onnx_model(const OnnxModel& model);

}  // namespace samebits::adapters
