// SPDX-License-Identifier: Apache-2.0
// A profile says which order a named system uses for one call. One file a system; registry in profile.cc.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "samebits/matrix.h"
#include "samebits/order.h"

namespace samebits::profiles {

// One matrix product as the user made it. m, n, k are those of the flattened product op(A) (m x k) * op(B) (k x n) = C.
struct Call {
  DType dtype = DType::f32;
  Index m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;          // A is stored k x m, B is stored n x k (row-major)
  std::vector<Index> a_shape, b_shape;            // as given, before flattening; empty: {m,k} and {k,n} (or transposed)
  bool a_contiguous = true, b_contiguous = true;  // false: inner stride is not one element
  bool same_operand = false;                      // b is a, transposed (NumPy makes a syrk)
  bool bias = false;                              // a c operand is added
  int threads = 1;
  unsigned a_offset = 0, b_offset = 0, c_offset = 0;  // addresses mod 64, bytes
  bool constant_b = true;
};

using Keys = std::map<std::string, std::string>;

struct Key {
  std::string name;
  std::vector<std::string> values;  // tried in this order when the user does not give the key; the first is the default
  std::string help;
};

struct Profile {
  std::string name;                   // "onnxruntime-cpu"
  std::string summary;                // one line
  std::vector<std::string> verified;  // what was checked where, or "source reading", a line each
  std::vector<Key> keys;
  // Order with regions for this call; `keys` holds a value for every key. Empty optional: the system has no path for this
  // call that the profile knows.
  std::optional<Order> (*order)(const Call&, const Keys&) = nullptr;
};

std::span<const Profile> all();
const Profile* find(std::string_view name);
// Resolves "name(key=value)": unknown names and keys are Error(syntax). Keys not given take their defaults.
std::optional<Order> resolve(const Order& profile_reference, const Call& call);

}  // namespace samebits::profiles
