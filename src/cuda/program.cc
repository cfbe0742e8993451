// SPDX-License-Identifier: Apache-2.0
#include "cuda/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace samebits::cuda {
namespace {

constexpr std::uint32_t padding = PackArguments<float, float>::padding;

[[noreturn]] void unsupported(const std::string& why) { throw Error(Code::unsupported, "cuda: " + why); }

InputFormat input_format(const InputRounding& input, bool double_inputs) {
  if (input.format == Format::none) return InputFormat::none;
  if (double_inputs) unsupported("rounding of double inputs has no kernel");
  switch (input.format) {
    case Format::tf32:
      switch (input.rounding) {
        case Rounding::rne: return InputFormat::tf32_rne;
        case Rounding::rna: return InputFormat::tf32_rna;
        case Rounding::rz: return InputFormat::tf32_rz;
        case Rounding::rz_raw: return InputFormat::tf32_rz_raw;
      }
      break;
    case Format::bf16:
      if (input.rounding == Rounding::rne) return InputFormat::bf16_rne;
      unsupported("bf16 rounds to nearest even only");
    case Format::fp16:
      if (input.rounding == Rounding::rne) return InputFormat::fp16_rne;
      unsupported("fp16 rounds to nearest even only");
    case Format::none: break;
  }
  return InputFormat::none;
}

// All leaves of a tensor-core order become fma leaves, so that compile() can lay out its runs; each run is one leaf item.
struct TensorItems {
  Tree tree;
  std::vector<Item> by_first;  // by k of the first leaf

  explicit TensorItems(const Tree& original) : tree(original), by_first(original.k) {
    for (auto& node : tree.nodes)
      for (auto& item : node.items) {
        if (item.is_node() || item.count == 0) continue;
        by_first[tree.ks[item.begin]] = item;
        item.op = Op::fma;
      }
  }
};

void lay_out_tensor_runs(const Tree& tree, DeviceProgram& out) {
  const TensorItems items(tree);
  const Program program = compile(items.tree);
  out.op = RunOp::mma;
  out.depth = program.depth;
  for (const Run& run : program.runs) {
    while (out.map.size() % 8 != 0) out.map.push_back(padding);
    DeviceRun device{static_cast<std::uint32_t>(out.map.size()), 0, run.merges, RunOp::mma, run.start == Run::Start::resume,
                     run.start == Run::Start::negative_zero, run.push};
    if (run.length > 0) {
      const std::uint32_t* k = program.permutation.data() + run.begin;
      const Item& item = items.by_first[*k];
      if (item.count != run.length) unsupported("chains of tensor-core blocks that are joined leaf by leaf");
      if (out.block == 0) {
        out.block = item.block;
        out.fraction = item.fraction;
      }
      if (item.block != out.block || item.fraction != out.fraction) unsupported("mma stages of different blocks in one order");
      const auto blocks = [&](std::uint32_t begin, std::uint32_t end) {
        out.map.insert(out.map.end(), k + begin, k + end);
        while ((out.map.size() - device.begin) % static_cast<std::size_t>(out.block) != 0) out.map.push_back(padding);
      };
      const std::uint32_t residue = std::min(item.residue, item.count);
      blocks(0, residue);
      blocks(residue, item.count);
      device.length = static_cast<std::uint32_t>(out.map.size()) - device.begin;
    }
    out.runs.push_back(device);
  }
  out.packed_k = static_cast<std::uint32_t>((out.map.size() + 7) / 8 * 8);
  out.map.resize(out.packed_k, padding);
}

}  // namespace

DeviceProgram device_program(const Order& order, std::size_t k, bool double_inputs) {
  if (order.has_regions()) unsupported("regions(...): run each region's order on its rows and columns");
  DeviceProgram out;
  out.input = input_format(order.input(), double_inputs);
  if (order.out() != Format::none && double_inputs) unsupported("out(...) on double results has no kernel");
  Tree tree = order.tree(k);

  bool tensor = false, other = false, exact = false, wide = false, rounded_products = false, rounded_partials = false;
  for (Node& node : tree.nodes) {
    wide |= node.wide;
    rounded_partials |= node.round != Format::none;
    for (Item& item : node.items) {
      if (item.is_node()) continue;
      tensor |= item.op == Op::mma;
      exact |= item.op == Op::exact;
      other |= item.op != Op::mma && item.op != Op::mul_f32;
      if (item.op == Op::mul_f32) {
        rounded_products = true;
        item.op = Op::mul;  // for compile(); each run gets it back
      }
    }
  }
  if (rounded_partials) unsupported("split(..., partial=out) has no kernel");
  if (rounded_products && (tensor || other)) unsupported("mul(round=f32) together with other leaves has no kernel");
  if (exact) unsupported("exact has no kernel");
  if (tensor) {
    if (other) unsupported("mma together with fma or mul leaves has no kernel");
    if (wide || double_inputs) unsupported("mma accumulates in float");
    if (order.input().format != Format::tf32) unsupported("mma has kernels for tf32(...) inputs only");
    lay_out_tensor_runs(tree, out);
  } else {
    if (!is_program(tree)) unsupported("f64 inside an order (it must round once, at the end) has no kernel");
    const Program program = compile(tree);
    out.wide = program.wide && !double_inputs;
    out.depth = program.depth;
    out.packed_k = program.k;
    if (!program.identity) out.map = program.permutation;
    for (const Run& run : program.runs) {
      if (run.start == Run::Start::c) unsupported("epilogue(c=seed) has no kernel");
      const std::uint32_t at = out.runs.empty() ? 0 : out.runs.back().begin + out.runs.back().length;
      const RunOp op = rounded_products ? RunOp::mul_f32 : run.op == Op::fma ? RunOp::fma : RunOp::mul;
      out.runs.push_back({at, run.length, run.merges, op, run.start == Run::Start::resume,
                          run.start == Run::Start::negative_zero, run.push});
    }
    bool first = true;
    for (const DeviceRun& run : out.runs) {
      if (run.length == 0) continue;
      out.op = first || out.op == run.op ? run.op : RunOp::mixed;
      first = false;
    }
  }
  out.pieces = {{0, static_cast<std::uint32_t>(out.runs.size())}};
  return out;
}

bool cut(DeviceProgram& program, std::size_t most) {
  std::vector<Piece> pieces;
  std::vector<DeviceRun> runs = program.runs;
  std::int64_t height = 0;
  std::uint32_t first = 0;
  for (std::uint32_t r = 0; r < runs.size(); ++r) {
    DeviceRun& run = runs[r];
    const bool last = r + 1 == runs.size();
    height -= run.merges;
    if (height == 0) {
      // The tile is the sum of all so far: a piece ends here if it is put away, or is the result.
      if (!run.push && !last) return false;
      if (!pieces.empty()) --run.merges;
      run.push = false;
      pieces.push_back({first, r + 1});
      first = r + 1;
      height = 1;
    } else {
      height += run.push;
    }
  }
  if (pieces.size() < 2 || pieces.size() > most) return false;
  std::uint32_t depth = 0;
  for (const Piece& piece : pieces) {
    std::uint32_t now = 0;
    for (std::uint32_t r = piece.first_run; r < piece.last_run; ++r) {
      if (runs[r].merges > now) return false;
      now -= runs[r].merges;
      if (runs[r].push) depth = std::max(depth, ++now);
    }
  }
  program.runs = std::move(runs);
  program.pieces = std::move(pieces);
  program.depth = depth;
  return true;
}

}  // namespace samebits::cuda
