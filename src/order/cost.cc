// SPDX-License-Identifier: Apache-2.0
#include "order/cost.h"

#include <optional>

#include "order/pieces.h"

namespace samebits::order {

// Measured with AVX-512 on a 12 x 32 tile of floats: a leaf takes 12 cycles (24 fused multiply-adds, two a cycle), a run
// that is merged costs 27 to 40 cycles more. The other factors are ratios of whole products at 512..2048.
Cost cost(const Tree& tree) {
  constexpr double leaf_cycles = 12, merge_cycles = 33;
  constexpr double product_factor = 1.04, double_factor = 2.1, mma_factor = 4.75, exact_factor = 2.25;
  Cost cost;
  const bool whole = is_program(tree);
  const std::optional<Pieces> pieces = whole ? std::nullopt : compile_pieces(tree);
  if (!whole && !pieces) {
    cost.program = false;
    const Op op = tree.main_op();
    const bool alone = tree.nodes.size() == 1 || (tree.nodes.size() == 2 && tree.nodes[tree.root].items.size() == 1);
    if (alone && op == Op::mma) {
      cost.why = "fused blocks of a tensor core";
      cost.relative_time = mma_factor;
    } else if (alone && op == Op::exact) {
      cost.why = "correctly rounded sums";
      cost.relative_time = exact_factor;
    } else {
      cost.why = "precision or op changes inside the tree: evaluated element by element";
    }
    return cost;
  }
  const Program program = whole ? compile(tree) : pieces->program;
  std::size_t merges = whole ? 0 : pieces->ends.size() - 1, products = 0;
  for (const Run& run : program.runs) {
    merges += run.merges;
    if (run.op == Op::mul) products += run.length;
  }
  cost.runs = program.runs.size();
  cost.depth = program.depth;
  if (tree.k == 0 || cost.runs == 0) return cost;
  const double k = tree.k;
  cost.average_run = k / static_cast<double>(cost.runs);
  cost.relative_time = 1 + static_cast<double>(merges) * merge_cycles / (k * leaf_cycles);
  cost.relative_time *= 1 + (product_factor - 1) * static_cast<double>(products) / k;
  if (program.wide) cost.relative_time *= double_factor;
  return cost;
}

}  // namespace samebits::order
