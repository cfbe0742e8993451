// SPDX-License-Identifier: Apache-2.0
// chunks: consecutive pieces of a given size.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "order/fold.h"

namespace samebits::order {
namespace {

class Chunks final : public Stage {
 public:
  std::vector<std::uint64_t> sizes;  // one: Q, the piece size; more: the pieces
  enum Balance { none, half, unit } balance = none;
  std::uint64_t unroll = 0;  // balance=unit: U
  std::uint64_t max = 0;     // 0: none
  std::uint64_t rest = 0;    // 0: none
  enum Short { last, first, second } short_piece = last;
  bool alternate = false;
  Fold fold;

  std::string text() const override {
    CallText call("chunks");
    for (auto size : sizes) call.number(size);
    if (balance == half) call.option("balance", "half");
    if (balance == unit) call.option("balance", unroll);
    if (max) call.option("max", max);
    if (rest) call.option("rest", rest);
    if (short_piece != last) call.option("short", short_piece == first ? "first" : "second");
    if (alternate) call.option("join", "alternate");
    if (!fold.is_left()) call.option("fold", fold.text());
    return call.str();
  }

  std::string describe() const override {
    std::string s =
        sizes.size() > 1 ? fmt::format("chunks of {}", fmt::join(sizes, ", ")) : fmt::format("chunks of {}", sizes[0]);
    if (balance == half) s += " (the last two halved)";
    if (balance == unit) s += fmt::format(" (the last two balanced in units of {})", unroll);
    if (max) s += fmt::format(" (a rest of at most {} is one chunk)", max);
    if (rest) s += fmt::format(" (a rest in chunks of {})", rest);
    if (short_piece != last) s += short_piece == first ? " (the short one first)" : " (the short one second)";
    return s + (alternate ? ", every other one joined leaf by leaf" : ", " + fold.describe());
  }

  bool has_pieces(Stages) const override { return fold.is_left() && !alternate; }

  std::vector<std::size_t> cut(std::size_t n) const {
    if (sizes.size() > 1) {
      if (const auto sum = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}); sum != n)
        throw Error(Code::invalid_argument, fmt::format("the chunks {} sum to {}, there are {} leaves", text(), sum, n));
      return {sizes.begin(), sizes.end()};
    }
    const std::size_t q = sizes[0];
    std::vector<std::size_t> pieces;
    for (std::size_t r = n; r > 0; r -= pieces.back()) {
      if (max ? r <= max : r <= q) {
        pieces.push_back(rest && r < q ? std::min<std::size_t>(rest, r) : r);
      } else if (balance != none && r < 2 * q) {
        pieces.push_back(balance == half ? (r + 1) / 2 : std::min(r, (r / 2 + unroll - 1) / unroll * unroll));
        if (r > pieces.back()) pieces.push_back(r - pieces.back());
        break;
      } else {
        pieces.push_back(q);
      }
    }
    if (short_piece != last && pieces.back() < q) {
      const std::size_t place = std::min<std::size_t>(short_piece == first ? 0 : 1, pieces.size() - 1);
      std::rotate(pieces.begin() + place, pieces.end() - 1, pieces.end());
    }
    return pieces;
  }

  std::uint32_t build(Builder& builder, Ks ks, Stages rest) const override {
    const auto sizes = cut(ks.size());
    if (!alternate) return fold.build(builder, builder.build_pieces(rest, ks, sizes), sizes.size());
    Node node = builder.node();
    for (std::size_t i = 0; i < sizes.size(); ks = ks.subspan(sizes[i++])) {
      const std::uint32_t piece = builder.build(rest, ks.first(sizes[i]));
      Node& last = builder.tree.nodes[piece];
      if (i == 0) node.start_negative = last.start_negative;
      const bool plain = last.wide == node.wide && last.round == Format::none && last.items[0].op != Op::exact;
      if (i % 2 == 0 && plain) {
        node.items.insert(node.items.end(), last.items.begin(), last.items.end());
        builder.tree.nodes.pop_back();
      } else {
        node.items.push_back(node_item(piece));
      }
    }
    return builder.add(std::move(node));
  }
};

std::shared_ptr<const Stage> parse(Scanner& in, const Left&) {
  auto chunks = std::make_shared<Chunks>();
  in.expect('(');
  chunks->sizes.push_back(in.number(1, max_k));
  bool options = false;
  while (!options && in.accept(',')) {
    if (in.at_digit()) {
      chunks->sizes.push_back(in.number(1, max_k));
      if (chunks->sizes.size() > max_leaves) in.fail("fewer pieces");
    } else {
      options = true;
    }
  }
  const bool list = chunks->sizes.size() > 1;
  if (!options) return in.expect(')'), chunks;
  for (Options o(in, {"balance=", "max=", "rest=", "short=", "join=", "fold="}, true); o.next();) {
    if (list && o.index() < 4) in.fail_at(o.column(), "a list of pieces takes join= and fold= only");
    if (o.index() == 0) {
      chunks->balance = in.at_digit() ? Chunks::unit : Chunks::half;
      if (in.at_digit()) {
        chunks->unroll = in.number(1, max_k);
      } else if (!in.accept("half")) {
        in.fail("a number or 'half'");
      }
    } else if (o.index() == 1) {
      chunks->max = in.number(chunks->sizes[0], max_k);
    } else if (o.index() == 2) {
      chunks->rest = in.number(1, chunks->sizes[0]);
    } else if (o.index() == 3) {
      constexpr Chunks::Short places[] = {Chunks::first, Chunks::second, Chunks::last};
      chunks->short_piece = places[in.choose({"first", "second", "last"})];
    } else if (o.index() == 4) {
      in.choose({"alternate"});
      chunks->alternate = true;
    } else {
      chunks->fold.parse(in, list ? chunks->sizes.size() : 0);
    }
    if (o.seen(0) + o.seen(1) + o.seen(2) + o.seen(3) > 1)
      in.fail_at(o.column(), "only one of balance=, max=, rest= and short= can be given");
    if (chunks->alternate && !chunks->fold.is_left())
      in.fail_at(o.column(), "join=alternate adds from left to right: no other fold");
  }
  return chunks;
}

constexpr StageWord words[] = {
    {"chunks", Rank::cut, parse,
     "chunks(Q | Q0,Q1,..., balance=U|half, max=M, rest=R, short=first|second|last, join=alternate, "
     "fold=left|halves|pairs|hadd|tree(...))",
     "consecutive pieces of Q leaves, the last one short; or a list of piece sizes"},
};

}  // namespace

std::span<const StageWord> stages_chunks() {
  return words;
}

}  // namespace samebits::order
