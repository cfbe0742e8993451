// SPDX-License-Identifier: Apache-2.0
// lanes: interleaved partial sums, as the vector registers of a dot-product kernel hold them.
#include <fmt/format.h>

#include <algorithm>

#include "order/fold.h"

namespace samebits::order {
namespace {

enum Tail { in_lanes, chain, sum, lane0, at_first };
constexpr std::string_view tail_names[] = {"lanes", "chain", "sum", "lane0", "first"};
enum TailOp { same, fma, mul, f64mul };
constexpr std::string_view tail_op_names[] = {"", "fma", "mul", "f64mul"};

class Lanes final : public Stage {
 public:
  std::uint64_t lanes = 1, width = 1;
  std::uint64_t step = 0;                                 // 0: lanes * width
  std::uint64_t head = 0, head_lane = 0, head_lanes = 1;  // head leaf i starts lane head_lane + i mod head_lanes
  Fold fold;
  Tail tail = in_lanes;
  TailOp tail_op = same;

  // fold and tail are always printed: neither has a usual value.
  std::string text() const override {
    CallText call("lanes");
    call.number(lanes);
    if (width != 1) call.option("width", width);
    if (step) call.option("step", step);
    if (head) call.option("head", fmt::format("{}@{}", head, head_in()));
    call.option("fold", fold.text()).option("tail", tail_names[tail]);
    if (tail_op != same) call.option("tailop", tail_op_names[tail_op]);
    return call.str();
  }

  std::string describe() const override {
    std::string s = fmt::format("{} lanes", lanes);
    if (width != 1) s += fmt::format(" of {} neighbours", width);
    if (head) s += fmt::format(", the first {} leaves in lane {}", head, head_in());
    constexpr std::string_view where[] = {"the tail in its lanes", "the tail joined after the fold",
                                          "the tail as a sum of its own, last", "the tail on lane 0",
                                          "the first leaves as a sum of their own"};
    s += fmt::format(", {}, {}", fold.describe(), where[tail]);
    if (tail_op == f64mul) return s + ", in double";
    if (tail_op != same) s += fmt::format(" by {}", tail_op_names[tail_op]);
    return s;
  }

  std::string head_in() const {
    return head_lanes == 1 ? std::to_string(head_lane) : fmt::format("{}..{}", head_lane, head_lane + head_lanes - 1);
  }

  std::uint32_t build(Builder& builder, Ks ks, Stages rest) const override {
    const Leaf& leaf = leaf_of(rest);
    const Ks peel = ks.first(std::min<std::size_t>(head, ks.size()));
    ks = ks.subspan(peel.size());
    const std::size_t period = step ? step : lanes * width;
    const std::size_t in_tail = tail == in_lanes && tail_op == same ? 0 : ks.size() % period;
    const Ks body = tail == at_first ? ks.subspan(in_tail) : ks.first(ks.size() - in_tail);
    const Ks rest_ks = tail == at_first ? ks.first(in_tail) : ks.last(in_tail);

    const bool wide_tail = tail_op == f64mul;
    const auto op = tail_op == same  ? std::optional<Op>{}
                    : tail_op == fma ? Op::fma
                    : tail_op == mul ? Op::mul
                                     : Op::mul_f32;
    auto tail_sum = [&] {
      if (tail_op == same) return leaf.build(builder, rest_ks, {});  // a chain as any other, with its seed
      Node node = builder.node(leaf.start_negative());
      node.wide |= wide_tail;
      leaf.join(builder, node, rest_ks, op);
      return builder.add(std::move(node));
    };

    Node result = builder.node(leaf.start_negative());
    result.wide |= wide_tail;
    if (tail == at_first && in_tail) result.items.push_back(node_item(tail_sum()));

    std::vector<std::vector<std::uint32_t>> lists(std::min<std::size_t>(lanes, (ks.size() + width - 1) / width));
    if (head) lists.resize(std::max<std::size_t>(lists.size(), head_lane + head_lanes));
    for (std::size_t i = 0; i < peel.size(); ++i) lists[head_lane + i % head_lanes].push_back(peel[i]);
    for (std::size_t p = 0; p < body.size(); ++p) lists[p / width % lanes].push_back(body[p]);
    std::vector<std::vector<std::uint32_t>> more(lists.size());  // tail leaves by lane
    if (tail == in_lanes)
      for (std::size_t p = 0; p < in_tail; ++p) more[p / width % lanes].push_back(rest_ks[p]);
    if (tail == lane0 && in_tail) more[0].assign(rest_ks.begin(), rest_ks.end());

    std::vector<std::uint32_t> parts(lists.size(), Fold::none);
    for (std::size_t l = 0; l < lists.size(); ++l) {
      if (!lists[l].empty()) parts[l] = builder.build(rest, lists[l]);
      if (more[l].empty()) continue;
      Node joined = builder.node(leaf.start_negative());
      if (parts[l] != Fold::none) joined.items.push_back(node_item(parts[l]));
      leaf.join(builder, joined, more[l], op);
      parts[l] = builder.add(std::move(joined));
    }

    if (const std::uint32_t folded = fold.build(builder, std::move(parts), lanes); folded != Fold::none)
      result.items.push_back(node_item(folded));
    if (tail == chain && in_tail) leaf.join(builder, result, rest_ks, op);
    if (tail == sum && in_tail) result.items.push_back(node_item(tail_sum()));
    return builder.add(std::move(result));
  }
};

std::shared_ptr<const Stage> parse(Scanner& in, const Left& left) {
  auto lanes = std::make_shared<Lanes>();
  in.expect('(');
  lanes->lanes = in.number(1, max_lanes);
  std::size_t step_column = 0, tail_op_column = 0;
  for (Options o(in, {"width=", "step=", "head=", "fold=", "tail=", "tailop="}); o.next();) {
    if (o.index() == 0) lanes->width = in.number(1, max_lanes);
    if (o.index() == 1) {
      step_column = in.position();
      lanes->step = in.number(1, max_k);
    }
    if (o.index() == 2) {
      lanes->head = in.number(1, max_k);
      in.expect('@');
      lanes->head_lane = in.number(0, lanes->lanes - 1);
      if (in.accept("..")) lanes->head_lanes = in.number(lanes->head_lane, lanes->lanes - 1) - lanes->head_lane + 1;
    }
    if (o.index() == 3) lanes->fold.parse(in, lanes->lanes);
    if (o.index() == 4) lanes->tail = static_cast<Tail>(in.choose({"lanes", "chain", "sum", "lane0", "first"}));
    if (o.index() == 5) {
      tail_op_column = o.column();
      lanes->tail_op = static_cast<TailOp>(1 + in.choose({"fma", "mul", "f64mul"}));
    }
  }
  const std::uint64_t period = lanes->lanes * lanes->width;
  if (lanes->step % period != 0)
    in.fail_at(step_column, fmt::format("expected a multiple of {} (lanes times width)", period));
  if (lanes->step == period) lanes->step = 0;
  if (lanes->tail_op == f64mul && (lanes->tail != sum || left.wide))
    in.fail_at(tail_op_column, "tailop=f64mul is a sum in double after float lanes: tail=sum, without f64 to the left");
  return lanes;
}

constexpr StageWord words[] = {
    {"lanes", Rank::cut, parse,
     "lanes(V, width=W, step=P, head=H@l[..m], fold=left|halves|pairs|hadd|tree(...), tail=lanes|chain|sum|lane0|first, "
     "tailop=fma|mul|f64mul)",
     "leaf p goes to lane floor(p/W) mod V; head: the first H leaves start lane l, or lanes l..m in turn; what is left "
     "modulo P is the tail"},
};

}  // namespace

std::span<const StageWord> stages_lanes() {
  return words;
}

}  // namespace samebits::order
