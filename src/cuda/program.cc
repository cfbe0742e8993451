// SPDX-License-Identifier: Apache-2.0
#include "cuda/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

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
  std::unordered_map<std::uint32_t, Item> by_first;  // by k of the first leaf

  explicit TensorItems(const Tree& original) : tree(original) {
    for (auto& node : tree.nodes)
      for (auto& item : node.items) {
        if (item.is_node() || item.count == 0) continue;
        by_first[tree.ks[item.begin]] = item;
        item.op = Op::fma;
      }
  }
};

// These append the runs of a tree, and return its compiled form.

Program append_tensor_runs(const Tree& tree, DeviceProgram& out) {
  const TensorItems items(tree);
  Program program = compile(items.tree);
  for (const Run& run : program.runs) {
    while (out.map.size() % 8 != 0) out.map.push_back(padding);
    DeviceRun device{static_cast<std::uint32_t>(out.map.size()), 0, run.merges, RunOp::mma, run.start == Run::Start::resume,
                     run.start == Run::Start::negative_zero, run.push};
    if (run.length > 0) {
      const std::uint32_t* k = program.permutation.data() + run.begin;
      const Item& item = items.by_first.at(*k);
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
  return program;
}

Program append_runs(const Tree& tree, RunOp rounded, DeviceProgram& out) {
  Program program = compile(tree);
  for (const Run& run : program.runs) {
    const std::uint32_t at = out.runs.empty() ? 0 : out.runs.back().begin + out.runs.back().length;
    const RunOp op = rounded != RunOp::mixed ? rounded : run.op == Op::fma ? RunOp::fma : RunOp::mul;
    out.runs.push_back({at, run.length, run.merges, op, run.start == Run::Start::resume, run.start == Run::Start::negative_zero, run.push});
  }
  out.map.insert(out.map.end(), program.permutation.begin(), program.permutation.end());
  return program;
}

// What stands under a node, as a tree over some of the k's.
Tree subtree(const Tree& tree, std::uint32_t root) {
  std::vector<std::uint32_t> list{root};
  for (std::size_t i = 0; i < list.size(); ++i)
    for (const Item& item : tree.nodes[list[i]].items)
      if (item.is_node()) list.push_back(item.node);
  std::ranges::sort(list);  // children stand before their parents
  Tree out;
  for (const std::uint32_t n : list) {
    Node node = tree.nodes[n];
    for (Item& item : node.items) {
      if (item.is_node()) {
        item.node = static_cast<std::uint32_t>(std::ranges::lower_bound(list, item.node) - list.begin());
      } else {
        const auto leaves = tree.ks.begin() + item.begin;
        item.begin = static_cast<std::uint32_t>(out.ks.size());
        out.ks.insert(out.ks.end(), leaves, leaves + item.count);
      }
    }
    out.nodes.push_back(std::move(node));
  }
  out.root = static_cast<std::uint32_t>(list.size() - 1);
  out.k = static_cast<std::uint32_t>(out.ks.size());
  return out;
}

// The leaf that starts the first chain in the tree's own order: what epilogue(c=seed) refers to.
std::uint32_t first_leaf(const Tree& tree) {
  std::uint32_t node = tree.root;
  while (tree.nodes[node].items.front().is_node()) node = tree.nodes[node].items.front().node;
  return tree.ks[tree.nodes[node].items.front().begin];
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
  } else if (!is_program(tree)) {
    unsupported("f64 inside an order (it must round once, at the end) has no kernel");
  }

  const Epilogue epilogue = order.epilogue();
  out.scales_a = epilogue.alpha == Epilogue::Alpha::a;
  std::vector<Tree> parts;
  if (k > 0 && (epilogue.alpha == Epilogue::Alpha::block || epilogue.c == Epilogue::C::first)) {
    const Node& root = tree.nodes[tree.root];
    const bool nodes = root.items.front().is_node();  // then all are
    // A sum in float that is one piece has its alpha and its C at the end. To doubles C is added before they are rounded.
    out.by_pieces = (nodes && root.items.size() > 1) || root.wide;
    if (out.by_pieces && nodes)
      for (const Item& item : root.items) parts.push_back(subtree(tree, item.node));
  }
  if (parts.empty()) parts.push_back(std::move(tree));
  for (const Tree& part : parts) {
    const auto first = static_cast<std::uint32_t>(out.runs.size());
    const Program program = tensor ? append_tensor_runs(part, out) : append_runs(part, rounded_products ? RunOp::mul_f32 : RunOp::mixed, out);
    out.wide = !tensor && program.wide && !double_inputs;
    out.depth = std::max(out.depth, program.depth);
    if (epilogue.c == Epilogue::C::seed && k > 0 && first == 0 && program.permutation[0] == first_leaf(part)) {
      out.seeded = true;
      out.runs[0].resume = true;
      out.runs.insert(out.runs.begin(), {0, 0, 1, out.runs[0].op, false, true, false});
      out.depth = std::max(out.depth, 1u);
    }
    out.pieces.push_back({first, static_cast<std::uint32_t>(out.runs.size())});
  }
  if (tensor) {
    out.op = RunOp::mma;
    out.map.resize((out.map.size() + 7) / 8 * 8, padding);
  } else {
    bool first = true;
    for (const DeviceRun& run : out.runs) {
      if (run.length == 0) continue;
      out.op = first || out.op == run.op ? run.op : RunOp::mixed;
      first = false;
    }
  }
  out.packed_k = static_cast<std::uint32_t>(out.map.size());
  if (!tensor && std::ranges::is_sorted(out.map)) out.map.clear();  // the identity
  return out;
}

bool cut(DeviceProgram& program, std::size_t most) {
  std::vector<Piece> pieces;
  std::vector<DeviceRun> runs = program.runs;
  std::int64_t height = 0;
  std::uint32_t first = 0;
  for (std::uint32_t r = 0; r < runs.size(); ++r) {
    if (program.seeded && r == 0) continue;
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
    std::uint32_t now = program.seeded && piece.first_run == 0;
    depth = std::max(depth, now);
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
