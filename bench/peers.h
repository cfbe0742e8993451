// SPDX-License-Identifier: Apache-2.0
// Other libraries, loaded at run time; each computes row-major C = A*B with dense rows.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

using Index = std::int64_t;

template <class T>
using Multiply = std::function<void(Index m, Index n, Index k, const T* a, const T* b, T* c)>;

struct Peer {
  std::string name, detail;
  std::function<void(int)> set_threads;
  Multiply<float> f32;  // empty: has none
  Multiply<double> f64;
  std::function<Multiply<float>(Index m, Index n, Index k)> prepare_f32;  // a kernel in hand for one shape; empty where none
  std::function<Multiply<double>(Index m, Index n, Index k)> prepare_f64;
};

// `files` names shared libraries beyond Debian's: "name=path". A library that cannot be loaded is left out, its reason in
// `missing`.
std::vector<Peer> load_peers(const std::vector<std::string>& files, std::vector<std::string>& missing);

}  // namespace bench
