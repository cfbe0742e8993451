// SPDX-License-Identifier: Apache-2.0
// Finds the accumulation order of a backend for one call by asking it, and proves it by replay. docs/probing.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "samebits/backend.h"
#include "samebits/order.h"

namespace [[gnu::visibility("default")]] samebits {

// The call whose order is wanted. Libraries choose by all of these.
struct ProbeCall {
  DType dtype = DType::f32;
  Index m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;  // A is stored k x m, B is stored n x k
  int threads = 1;
  bool constant_b = false;
  unsigned a_offset = 0, b_offset = 0, c_offset = 0;  // addresses mod 64, bytes, multiples of the element size
  Index a_gap = 0, b_gap = 0, c_gap = 0;              // elements between the end of a stored row and the next row
};

struct ProbeOptions {
  bool epilogue = true;        // find where alpha and beta enter, too
  Index max_calls = 200000;    // Error(backend) when the order needs more
  std::uint64_t seed = 1;      // of the data sets for replay
  std::function<void(const std::string& stage, Index calls)> progress;
};

struct ProbeRegion {
  Order order;             // plain, in its shortest form
  std::string tree;        // canonical text of the tree at this k
  Index elements = 0, row = 0, col = 0;  // how many elements have it, and the first of them
};

struct ProbeResult {
  enum class Status {
    reproduced,         // replay gave the backend's bits for every element, on two data sets
    partly_reproduced,  // for some elements
    not_reproduced,     // a structure was found, or none, but no element's replay holds
    not_deterministic,  // the same call gave other bits the second time
  };
  std::string backend;
  ProbeCall call;
  Status status = Status::not_reproduced;
  Order order;                       // meaningful unless not_reproduced
  std::vector<ProbeRegion> regions;  // one for each distinct order, the most common first
  Index elements = 0, reproduced = 0;
  Index calls = 0;
  bool flushes_subnormal_inputs = false, flushes_subnormal_results = false;
  std::string epilogue;              // in words; empty: not asked
  std::vector<std::string> profiles; // those that predict this order, the backend's own first
  std::vector<std::string> notes;    // what was seen besides, in plain words

  bool ok() const { return status == Status::reproduced; }
  // Some lines of text.
  std::string text() const;
};

// Throws Error(backend) when the backend fails, Error(invalid_argument) for an empty product.
ProbeResult probe(Backend& backend, const ProbeCall& call, const ProbeOptions& options = {});

}  // namespace samebits
