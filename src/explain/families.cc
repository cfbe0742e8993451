// SPDX-License-Identifier: Apache-2.0
#include "explain/families.h"

#include <fmt/format.h>

#include <array>

namespace samebits::explain {
namespace {

using Texts = std::vector<std::string>;

// Block rules of real libraries: MLAS, OpenBLAS (one thread: balance=U, several: half), MKL and oneDNN, BLIS, Eigen.
Texts block_rules(Index k) {
  struct Rule {
    int q;
    const char* option;
  };
  static constexpr Rule rules[] = {{256, ""},
                                   {128, ""},
                                   {192, ""},
                                   {512, ""},
                                   {1024, ""},
                                   {320, ", balance=8"},
                                   {448, ", balance=16"},
                                   {320, ", balance=16"},
                                   {384, ", balance=16"},
                                   {256, ", balance=4"},
                                   {384, ", balance=1"},
                                   {256, ", balance=1"},
                                   {256, ", balance=half"},
                                   {320, ", balance=half"},
                                   {384, ", balance=half"},
                                   {448, ", balance=half"},
                                   {192, ", balance=half"},
                                   {128, ", balance=half"},
                                   {512, ", balance=half"},
                                   {384, ", balance=4"},
                                   {384, ", balance=8"},
                                   {384, ""},
                                   {320, ""},
                                   {448, ""},
                                   {64, ""},
                                   {32, ""},
                                   {16, ""},
                                   {8, ""},
                                   {4, ""},
                                   {504, ""},
                                   {288, ""},
                                   {208, ""},
                                   {112, ", short=second"},
                                   {112, ""},
                                   {384, ", max=480"},
                                   {256, ", max=320"},
                                   {4096, ""},
                                   {2048, ""}};
  Texts out;
  for (const auto& r : rules)
    if (r.q < k) out.push_back(fmt::format("chunks({}{})", r.q, r.option));
  return out;
}

// Every other way to cut K into consecutive pieces.
Texts splits(Index k) {
  Texts out;
  for (Index s = 2; s <= std::min<Index>(16, k - 1); ++s) {
    out.push_back(fmt::format("split({})", s));
    if (k % s) out.push_back(fmt::format("split({}, floor)", s));
  }
  for (int b : {1, 2, 4, 8, 16, 32, 64, 128, 256})
    if (b < k) out.push_back(fmt::format("pairwise({})", b));
  const Index step = k <= 128 ? 1 : 8;
  for (Index q = k <= 128 ? 2 : 8; q < k && q <= 2048; q += step) {
    out.push_back(fmt::format("chunks({})", q));
    if (k % q && k / q <= 3) out.push_back(fmt::format("chunks({}, short=first)", q));
    if (k % q && q < k / 2) out.push_back(fmt::format("chunks({}, balance=half)", q));
  }
  return out;
}

// Dot-product kernels: V lanes, with the folds and tails that were met. `heads`: alignment peels too.
Texts lane_rules(Index k, bool heads) {
  Texts out;
  for (int v : {4, 8, 16, 2, 32}) {
    if (v > k) continue;
    Texts folds = {"halves", "pairs", "hadd", "left"};
    if (v == 2) folds = {"left"};  // all folds of two lanes are one
    if (v == 4) folds = {"halves", "pairs", "left"};
    if (v == 8) folds.push_back("tree(0 + 1 + 2 + 3 + (4 + 5 + 6 + 7))");
    for (const auto& fold : folds) {
      out.push_back(fmt::format("lanes({}, fold={}, tail=lanes)", v, fold));
      for (int steps : {1, 2, 4, 8}) {
        const Index step = static_cast<Index>(v) * steps;
        if (step > k) break;
        const auto at = steps == 1 ? std::string{} : fmt::format(" step={},", step);
        if (k % step == 0 && steps > 1) continue;
        for (const char* tail : {"chain", "lane0", "sum", "first"})
          if (k % step) out.push_back(fmt::format("lanes({},{} fold={}, tail={})", v, at, fold, tail));
      }
      if (!heads) continue;
      for (int head = 1; head < v && head <= 7 && head < k; ++head)
        for (const char* tail : {"chain", "lanes", "lane0", "sum"})
          out.push_back(fmt::format("lanes({}, head={}@0, fold={}, tail={})", v, head, fold, tail));
    }
  }
  for (int v : {2, 4})
    for (int w : {2, 4})
      if (v * w < k)
        for (const char* tail : {"lanes", "chain", "lane0", "sum"})
          out.push_back(fmt::format("lanes({}, width={}, fold={}, tail={})", v, w, v == 2 ? "left" : "halves", tail));
  return out;
}

}  // namespace

std::vector<Family> families(Index k, DType dtype) {
  std::vector<Family> out = {{"fma", true}, {"mul", true}};
  if (k < 2) return out;
  const auto add = [&](bool common, const std::string& text) { out.push_back({text, common}); };
  static constexpr std::array ops = {"fma", "mul"};

  const auto blocks = block_rules(k);
  for (const auto& b : blocks) add(true, b + " > fma");
  for (const auto* op : ops)
    for (int v : {4, 8, 16})
      if (v <= k)
        for (const char* fold : {"halves", "pairs"})
          for (const char* tail : {"lanes", "chain"})
            add(true, fmt::format("lanes({}, fold={}, tail={}) > {}", v, fold, tail, op));
  for (int s : {2, 4, 3, 8})
    if (s < k) add(true, fmt::format("split({}) > fma", s));
  // cuBLAS gemmSN_NN: S contiguous chunks, chains of B inside.
  if (k > 512) add(true, "split(2) > chunks(256) > fma");
  if (k > 512) add(true, "split(4) > chunks(128) > fma");
  for (const auto& b : blocks) add(false, b + " > mul");
  for (int q : {4, 8, 2, 16})
    if (q < k)
      for (const auto* op : ops)
        for (int seed : {1, 0})
          add(false, seed ? fmt::format("chunks({}) > {}(seed={})", q, op, seed) : fmt::format("chunks({}) > {}", q, op));

  for (const auto& s : splits(k))
    for (const auto* op : ops) add(false, fmt::format("{} > {}", s, op));
  for (const auto& l : lane_rules(k, true))
    for (const auto* op : ops) add(false, fmt::format("{} > {}", l, op));
  for (const auto* op : ops) add(false, fmt::format("reverse > {}", op));

  // Lanes inside the blocks of a matrix kernel: head and tail are of each piece.
  Texts outer;
  for (const auto& b : blocks)
    if (outer.size() < 21) outer.push_back(b);  // the real libraries' rules; the rest are small blocks
  for (int s : {2, 4})
    if (k >= 32 * s) outer.push_back(fmt::format("split({})", s));
  for (const auto& o : outer)
    for (const auto& l : lane_rules(k, false))
      for (const auto* op : ops) add(false, fmt::format("{} > {} > {}", o, l, op));

  if (dtype == DType::f32) {
    for (const char* wide : {"f64 > mul(round=f32)", "f64 > fma"}) add(false, wide);
    for (const char* fold : {"left", "halves", "hadd", "pairs"})
      if (k > 32) add(false, fmt::format("lanes(32, fold={}, tail=sum, tailop=f64mul) > fma", fold));
  }
  add(false, "exact");
  return out;
}

std::vector<std::string> input_roundings(DType dtype) {
  if (dtype == DType::f64) return {};
  return {"tf32(rna)", "tf32(rne)", "tf32(rz)", "bf16(rne)", "fp16(rne)"};
}

std::vector<std::string> tensor_cores(Index k, const std::string& rounding) {
  const Texts blocks = rounding.starts_with("tf32") ? Texts{"mma(4,24)", "mma(8,25)", "mma(4,25)"}
                                                    : Texts{"mma(8,24)", "mma(16,25)", "mma(8,25)", "mma(4,23)"};
  Texts out;
  for (const auto& b : blocks) {
    out.push_back(b);
    for (int s : {2, 3, 4, 8})
      if (k >= 16 * s) out.push_back(fmt::format("split({}) > {}", s, b));
    for (int t : {16, 32, 64})
      if (k > t && k % t) out.push_back(fmt::format("{}, first={})", b.substr(0, b.size() - 1), t));
  }
  return out;
}

}  // namespace samebits::explain
