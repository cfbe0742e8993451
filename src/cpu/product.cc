// SPDX-License-Identifier: Apache-2.0
// The loops around the kernels. Three ways through: packed (A and B copied into panels in the order of the program), strided
// (A in place, B in place or copied), for small and for thin products, and along k, for a vector times columns that are
// contiguous. None changes a bit: the steps are the same.
#include "cpu/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cpu/blocking.h"
#include "cpu/pool.h"
#include "cpu/registry.h"
#include "cpu/schedule.h"
#include "cpu/workspace.h"
#include "order/pieces.h"
#include "reference/float_environment.h"
#include "reference/reference.h"

namespace samebits::cpu {
namespace {

Index round_up(Index x, Index unit) {
  return (x + unit - 1) / unit * unit;
}
Index ceil_div(Index x, Index y) {
  return (x + y - 1) / y;
}

template <class T>
MatrixView<T> block(MatrixView<T> x, Index i, Index j, Index rows, Index cols) {
  return {x.data + i * x.row_stride + j * x.col_stride, rows, cols, x.row_stride, x.col_stride};
}

// For the stores that end a tile.
template <class T>
void prefetch_rows(const MatrixView<T>& c) {
  for (Index i = 0; i < c.rows; ++i)
    for (Index j = 0; j < c.cols; j += 64 / Index(sizeof(T))) __builtin_prefetch(&c(i, j), 1, 2);
}

template <class T>
Call<T> part(const Call<T>& call, Index i, Index j, Index rows, Index cols) {
  Call<T> p = call;
  p.a = block(call.a, i, 0, rows, call.a.cols);
  p.b = block(call.b, 0, j, call.b.rows, cols);
  p.c = block(call.c, i, j, rows, cols);
  if (call.bias.data != nullptr) p.bias = block(call.bias, i, j, rows, cols);
  return p;
}

// C^T = B^T A^T: products are commutative, so the bits are the same.
template <class T>
Call<T> transposed(const Call<T>& call) {
  return {call.alpha, call.beta, call.b.transposed(), call.a.transposed(), call.c.transposed(), call.bias.transposed()};
}

// The leaf that starts the first chain of a tree in its own order: the chain that epilogue(c=seed) begins from C.
std::uint32_t first_leaf(const Tree& tree) {
  std::uint32_t node = tree.root;
  while (tree.nodes[node].items.front().is_node()) node = tree.nodes[node].items.front().node;
  return tree.ks[tree.nodes[node].items.front().begin];
}

// T: type of the matrices. S: type in which the kernels compute (double for wide programs).
// By pieces: the kernels compute the pieces of the outermost stage, and the loops here add them up, each scaled.
template <class T, class S>
class KernelProduct final : public Product<T> {
 public:
  KernelProduct(const Order& order, const Tree& tree, Pieces code, Index m, Index n, const std::string& isa)
      : input_(order.input()),
        epilogue_(order.epilogue()),
        out_(order.out()),
        program_(std::move(code.program)),
        by_piece_(!code.ends.empty()),
        piece_round_(code.round) {
    const Index k = program_.k;
    const Node& root = tree.nodes[tree.root];
    one_piece_ = !root.wide && std::ranges::none_of(root.items, [](const Item& x) { return x.is_node(); });
    // By pieces, a C that comes last is not part of the pieces' sum.
    fused_end_ = epilogue_.fused && !(epilogue_.alpha == Epilogue::Alpha::block && epilogue_.c == Epilogue::C::last);
    if (epilogue_.c == Epilogue::C::seed) seed_program(first_leaf(tree));
    mul_ = tree.main_op() == Op::mul;
    std::string_view chosen = isa;
    if (isa.empty() && mul_) chosen = blocking().mul_isa;
    set_ = &kernel_set<S>(chosen);

    if (!program_.identity) {
      positions_.resize(program_.k);
      for (std::uint32_t p = 0; p < program_.k; ++p) positions_[program_.permutation[p]] = p;
    }
    // Few rows: a panel of B is soon done with, and shorter ones stay in the second-level cache until then.
    const Index k_bytes = blocking().k_bytes / (m <= 256 ? 8 : 1);
    kc_ = std::clamp<Index>(k_bytes / Index(sizeof(S)), 2, std::max<Index>(k, 2));
    packed_ = make_schedule(program_, static_cast<std::uint32_t>(kc_), true, code.ends);
    in_place_ = constant_strides(program_);
    if (in_place_) {
      strided_ = make_schedule(program_, program_.k, false, code.ends);
      unit_strides_ = std::ranges::all_of(strided_.steps, [](const Step& x) { return x.stride == 1; });
      // Fewer rows have fewer sums to load and store for each block.
      const Index few = std::min(m, n);
      const Index stream_k = (few <= 8 ? 1 : sweeps(few) > 0 ? 2 : 32) * blocking().stream_k;
      stream_ = make_schedule(program_, static_cast<std::uint32_t>(stream_k), false, code.ends);
      if (std::is_same_v<T, S> && input_.format == Format::none && out_ == Format::none && !by_piece_ &&
          epilogue_.c != Epilogue::C::seed && m * n <= largest_small && m * n * k <= blocking().in_place_work &&
          std::max(m, n) * k * Index(sizeof(S)) <= blocking().stream_bytes) {
        const Shape shape = shape_of(m, n);
        each_tile(shape, 0, m, n, [&](const TileAt& at) {
          small_.push_back({at.i, at.j, int(at.rows), int(at.cols), at.kernel()});
        });
      }
    }
  }

  bool can_run(T alpha, T beta) const override {
    const bool scaled = alpha != 1 && epilogue_.alpha != Epilogue::Alpha::a, has_c = beta != 0;
    if (has_c && epilogue_.c != Epilogue::C::last && scaled && epilogue_.alpha == Epilogue::Alpha::end) return false;
    if (has_c && epilogue_.c == Epilogue::C::seed) return !scaled;
    const bool by_piece =
        (scaled && epilogue_.alpha == Epilogue::Alpha::block) || (has_c && epilogue_.c == Epilogue::C::first);
    return !by_piece || by_piece_ || one_piece_;
  }

  std::string kernel() const override {
    return fmt::format("{}gemm_{}_{}x{}_{}", sizeof(S) == 4 ? 's' : 'd', set_->isa, set_->rows, set_->columns(),
                       mul_ ? "mul" : "fma");
  }

  void run(const Call<T>& given, int threads) const override {
    Call<T> call = given;
    // Strides that no element uses.
    if (call.c.rows == 1) call.c.row_stride = call.c.cols;
    if (call.c.cols == 1) call.c.col_stride = call.b.col_stride = 1;
    if (call.c.rows == 1) call.a.row_stride = 1;
    Way way = choose(call);
    if (way.transpose) call = transposed(call);

    const Index m = call.c.rows, n = call.c.cols;
    if (threads > 1) {
      const auto wanted = static_cast<Index>(double(m) * double(n) * double(call.a.cols) / double(blocking().thread_work));
      threads = static_cast<int>(std::clamp<Index>(wanted, 1, threads));
    }
    if (threads == 1) return rectangle(call, way);
    // A grid of nearly equal rectangles, as square as the count allows.
    const Index unit_m = way.packed ? set_->rows : 1, unit_n = set_->columns();
    const Index tiles_m = ceil_div(m, unit_m), tiles_n = ceil_div(n, unit_n);
    Index grid_m = 1, best = -1;
    for (Index g = 1; g <= threads; ++g) {
      if (threads % g != 0 || g > tiles_m || threads / g > tiles_n) continue;
      const Index longest = ceil_div(tiles_m, g) * unit_m * ceil_div(tiles_n, threads / g) * unit_n;
      const Index edge = ceil_div(m, g) + ceil_div(n, threads / g);
      const Index cost = longest * 64 + edge;
      if (best < 0 || cost < best) best = cost, grid_m = g;
    }
    if (best < 0) return rectangle(call, way);
    const Index grid_n = threads / grid_m;
    parallel(threads, [&](int i) {
      const FloatEnvironment environment;
      const Index gi = i / grid_n, gj = i % grid_n;
      const Index i0 = std::min(m, gi * tiles_m / grid_m * unit_m), i1 = std::min(m, (gi + 1) * tiles_m / grid_m * unit_m);
      const Index j0 = std::min(n, gj * tiles_n / grid_n * unit_n), j1 = std::min(n, (gj + 1) * tiles_n / grid_n * unit_n);
      if (i0 < i1 && j0 < j1) rectangle(part(call, i0, j0, i1 - i0, j1 - j0), way);
    });
  }

 private:
  struct Way {
    bool transpose = false;
    bool packed = true;    // else strided
    bool copy_b = false;   // strided: B is copied to panels
    bool along_k = false;  // strided: one row of C, and the columns of B are read in place
  };

  // What the epilogue needs beyond storing the tile.
  bool plain(const Call<T>& call, T alpha) const {
    return !by_piece_ && alpha == 1 && call.beta == 0 && call.bias.data == nullptr && out_ == Format::none &&
           std::is_same_v<T, S>;
  }
  bool scales_a(const Call<T>& call) const { return epilogue_.alpha == Epilogue::Alpha::a && call.alpha != 1; }

  void seed_program(std::uint32_t leaf) {
    for (Run& run : program_.runs)
      if (run.length > 0 && program_.permutation[run.begin] == leaf && run.start != Run::Start::resume) {
        no_seed_ = run.start == Run::Start::negative_zero ? S(-0.0) : S(0);
        run.start = Run::Start::c;
      }
  }

  // ---- which way
  // ----------------------------------------------------------------------------------------------------------

  Way choose(const Call<T>& call) const {
    const Index m = call.c.rows, n = call.c.cols, k = call.a.cols;
    const bool a_columns = call.a.row_stride == 1, b_rows = call.b.col_stride == 1;  // contiguous along m, along n
    const bool c_columns = call.c.col_stride != 1 && call.c.row_stride == 1;
    const Blocking& sizes = blocking();
    const bool can_stride = in_place_ && std::is_same_v<T, S> && input_.format == Format::none && !scales_a(call);
    Way way;
    // Where A is the large one, its rows are read once only if one tile is as wide as C.
    const bool thin = std::min(m, n) <= sizes.skinny && (m <= n || n <= set_->columns());
    if (can_stride && (thin || double(m) * double(n) * double(k) <= double(sizes.in_place_work) ||
                       std::max(m, n) <= 64)) {  // each value is used too seldom to be copied
      way.packed = false;
      // A matrix times a vector along k.
      way.along_k = unit_strides_ && k >= columns_along_k &&
                    ((m == 1 && !b_rows && call.b.row_stride == 1 && n >= columns_along_k) ||
                     (n == 1 && !a_columns && call.a.col_stride == 1 && m >= columns_along_k));
      if (way.along_k) {
        way.transpose = n == 1;
        return way;
      }
      if (std::min(m, n) <= sizes.skinny && std::max(m, n) > 2 * sizes.skinny) {
        // The large operand is read in place: as rows of vectors if it has such, else by broadcasts.
        way.transpose = m <= n ? !b_rows : a_columns;
      } else {
        way.transpose = !b_rows && a_columns;
      }
      way.copy_b = way.transpose ? !a_columns : !b_rows;
      return way;
    }
    way.transpose = c_columns;
    return way;
  }

  void rectangle(const Call<T>& call, const Way& way) const {
    if (way.packed) return packed(call, way.transpose);
    if (way.along_k) return along_k(call);
    strided(call, way.copy_b);
  }

  // ---- tiles
  // --------------------------------------------------------------------------------------------------------------

  // From a tile (row stride ld) to C.
  void finish(const Call<T>& call, T alpha, const S* tile, Index ld, Index i0, Index j0, Index rows, Index cols) const {
    const bool has_c =
        call.beta != 0 && epilogue_.c != Epilogue::C::seed && !(by_piece_ && epilogue_.c == Epilogue::C::first);
    if (by_piece_ && epilogue_.alpha == Epilogue::Alpha::block) alpha = 1;  // add_piece has scaled
    for (Index i = 0; i < rows; ++i) {
      T* c = &call.c(i0 + i, j0);
      const T* bias = call.bias.data != nullptr ? &call.bias(i0 + i, j0) : nullptr;
      for (Index j = 0; j < cols; ++j, c += call.c.col_stride) {
        T t = static_cast<T>(tile[i * ld + j]);
        if (has_c) {
          const T old = call.beta == 1 ? *c : call.beta * *c;
          if (fused_end_)
            t = std::fma(alpha, t, old);
          else
            t = (alpha == 1 ? t : alpha * t) + old;
        } else if (alpha != 1) {
          t = alpha * t;
        }
        if (bias != nullptr) t = t + bias[j * call.bias.col_stride];
        if (out_ != Format::none) t = reference::round_to(out_, Rounding::rne, t);
        *c = t;
      }
    }
  }

  // Adds a piece to the sum of those before it (both of row stride ld), as the reference does.
  void add_piece(const Call<T>& call, const S* piece, S* sum, bool first, Index ld, Index i0, Index j0, Index rows,
                 Index cols) const {
    const T alpha = epilogue_.alpha == Epilogue::Alpha::block ? call.alpha : T(1);
    const bool from_c = first && call.beta != 0 && epilogue_.c == Epilogue::C::first;
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < cols; ++j) {
        S value = piece[i * ld + j];
        if (piece_round_ != Format::none) value = reference::round_to(piece_round_, Rounding::rne, value);
        const T p = static_cast<T>(value);
        T s = static_cast<T>(sum[i * ld + j]);
        if (from_c) {
          const T c = call.c(i0 + i, j0 + j);
          s = call.beta == 1 ? c : call.beta * c;
        }
        if (first && !from_c)
          s = alpha == 1 ? p : alpha * p;
        else if (alpha == 1)
          s = s + p;
        else
          s = epilogue_.fused ? std::fma(alpha, p, s) : s + alpha * p;
        sum[i * ld + j] = static_cast<S>(s);
      }
  }

  // round(beta*C), what epilogue(c=seed) starts from; where beta is 0, the zero that the chain starts from.
  void fill_seed(const Call<T>& call, S* seed, Index ld, Index i0, Index j0, Index rows, Index cols) const {
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < ld; ++j) {
        S x = no_seed_;
        if (j < cols && call.beta != 0) x = call.beta == 1 ? call.c(i0 + i, j0 + j) : call.beta * call.c(i0 + i, j0 + j);
        seed[i * ld + j] = x;
      }
  }

  // Memory of the tiles: scratch for one tile, and what each tile of C keeps between blocks of K.
  struct Tiles {
    std::size_t scratch = 0, result = 0, seed = 0, kept = 0, sum = 0;
    Index size = 0;
    void add(Layout& layout, const Schedule& s, Index tile_size, Index count) {
      size = tile_size;
      scratch = layout.add<S>((s.depth + 1) * size);
      result = layout.add<S>(size);
      seed = layout.add<S>(size);
      kept = layout.add<S>(static_cast<std::size_t>(s.kept_entries) * size * count);
      if (!s.piece_ends.empty()) sum = layout.add<S>(size * std::max<Index>(count, 1));
    }
  };

  // Runs one block of K of one tile, number `index` of the tiles of C.
  void run_tile(const Call<T>& call, T alpha, bool direct, const Schedule& schedule, std::size_t b, TileKernel<S> kernel,
                TileCall<S>& t, Index ld, const Tiles& tiles, std::byte* memory, Index index, Index i0, Index j0) const {
    const Block& block = schedule.blocks[b];
    const bool last = b + 1 == schedule.blocks.size();
    const auto at = [&](std::size_t offset) { return reinterpret_cast<S*>(memory + offset); };
    t.step = schedule.steps.data() + block.first_step;
    t.end = t.step + block.steps;
    t.entries = block.entries;
    t.low_entries = schedule.kept_entries;
    t.low = at(tiles.kept) + index * schedule.kept_entries * tiles.size;
    t.high = at(tiles.scratch);
    if (block.seeded) {
      t.seed = at(tiles.seed);
      fill_seed(call, at(tiles.seed), ld, i0, j0, t.rows, t.cols);
    }
    t.c = nullptr;
    if (by_piece_) {
      S* const sum = at(tiles.sum) + (schedule.blocks.size() > 1 ? index * tiles.size : 0);
      run_pieces(call, schedule, block, kernel, t, ld, at(tiles.result), sum, i0, j0);
      if (last) finish(call, alpha, sum, ld, i0, j0, t.rows, t.cols);
      return;
    }
    if (last && direct) {
      t.c = reinterpret_cast<S*>(&call.c(i0, j0));
      t.c_row = call.c.row_stride;
    } else if (last) {
      t.c = at(tiles.result);
      t.c_row = ld;
    }
    kernel(t);
    if (last && !direct) finish(call, alpha, at(tiles.result), ld, i0, j0, t.rows, t.cols);
  }

  // The steps of a block, piece by piece.
  void run_pieces(const Call<T>& call, const Schedule& schedule, const Block& block, TileKernel<S> kernel, TileCall<S>& t,
                  Index ld, S* piece, S* sum, Index i0, Index j0) const {
    const std::uint32_t last = block.first_step + block.steps;
    auto end = std::ranges::upper_bound(schedule.piece_ends, block.first_step);
    for (std::uint32_t from = block.first_step; from != last; t.entries = 0) {
      const bool whole = end != schedule.piece_ends.end() && *end <= last;
      const std::uint32_t to = whole ? *end : last;
      t.step = schedule.steps.data() + from;
      t.end = schedule.steps.data() + to;
      t.c = whole ? piece : nullptr;
      t.c_row = ld;
      kernel(t);
      if (whole) {
        const bool first = end++ == schedule.piece_ends.begin();
        add_piece(call, piece, sum, first, ld, i0, j0, t.rows, t.cols);
      }
      from = to;
    }
  }

  // Tiles of C keep something between two blocks of K.
  bool keeps(const Schedule& s) const { return s.kept_entries > 0 || (by_piece_ && s.blocks.size() > 1); }

  // ---- packed
  // -------------------------------------------------------------------------------------------------------------

  // One panel: `lanes` values (stride `lane`) for each of k_count k's (stride `step`) from x.
  void pack(const T* x, Index lane, Index lanes, Index step, Index k_count, const std::uint32_t* positions, T scale,
            S* panel, Index width) const {
    if constexpr (std::is_same_v<T, S>) {
      if (input_.format == Format::none && scale == 1) {
        if (lane == 1) return set_->copy(x, step, int(lanes), k_count, positions, panel, int(width));
        if (step == 1) return set_->transpose(x, lane, int(lanes), k_count, positions, panel, int(width));
      }
    }
    for (Index k = 0; k < k_count; ++k) {
      S* to = panel + (positions != nullptr ? Index(positions[k]) : k) * width;
      for (Index l = 0; l < width; ++l) {
        T value = l < lanes ? x[l * lane + k * step] : T(0);
        if (input_.format != Format::none) value = reference::round_to(input_.format, input_.rounding, value);
        to[l] = scale == 1 ? value : scale * value;
      }
    }
  }

  // `transpose`: the caller's A is call.b.
  void packed(const Call<T>& call, bool transpose) const {
    const Index m = call.c.rows, n = call.c.cols, k = call.a.cols;
    const Index MR = set_->rows, NR = set_->columns();
    const Index a_width = round_up(MR, set_->width);  // of a panel of A: whole vectors are stored
    const Schedule& schedule = packed_;
    const Blocking& sizes = blocking();
    const bool by_block = program_.identity;  // else a block needs k's from everywhere: B is packed at once
    const Index most_columns = std::max(NR, sizes.b_bytes / Index(sizeof(S)) / std::min(kc_, k) / NR * NR);
    const Index nc = round_up(ceil_div(n, ceil_div(n, most_columns)), NR);
    const Index mc = std::min(round_up(m, MR), std::max(MR, sizes.a_bytes / Index(sizeof(S)) / k / MR * MR));
    // A panel is packed just before its first tile needs it. One of A is kept only where it is read again.
    const bool keep_a = nc < n || (!by_block && schedule.blocks.size() > 1);
    const bool scaled = scales_a(call);
    const T alpha = scaled ? T(1) : call.alpha;
    const bool direct = plain(call, alpha) && (call.c.col_stride == 1 || n == 1);

    Layout layout;
    Tiles tiles;
    const Index most_row_tiles = ceil_div(mc, MR);
    tiles.add(layout, schedule, MR * NR, keeps(schedule) ? most_row_tiles * (nc / NR) : 0);
    const Index b_rows = by_block ? std::min(kc_, k) : k;
    const std::size_t a_at = layout.add<S>((keep_a ? most_row_tiles : 1) * a_width * k), b_at = layout.add<S>(nc * b_rows);
    std::byte* memory = Workspace::of_this_thread().get(layout.bytes());
    S* const a_packed = reinterpret_cast<S*>(memory + a_at);
    S* const b_packed = reinterpret_cast<S*>(memory + b_at);
    const std::uint32_t* positions = positions_.empty() ? nullptr : positions_.data();

    TileCall<S> t;
    t.a_k = a_width;
    t.b_k = NR;
    for (Index ic = 0; ic < m; ic += mc) {
      const Index mb = std::min(mc, m - ic);
      const Index pairs = ceil_div(mb, 2), row_tiles = ceil_div(pairs, MR / 2);
      const auto row_of = [&](Index r) { return std::min(mb, r * pairs / row_tiles * 2); };  // of row r of tiles, the first
      for (Index jc = 0; jc < n; jc += nc) {
        const Index nb = std::min(nc, n - jc), col_tiles = ceil_div(nb, NR);
        const auto pack_b = [&](Index j0, Index j1, Index from, Index count) {
          // Several panels: rows of B are read a few at a time, along their whole length, because one panel after another
          // would touch a new page for each k.
          const Index few = call.b.col_stride == 1 && j1 - j0 > NR ? 8 : count;
          for (Index k0 = 0; k0 < count; k0 += few)
            for (Index j = j0; j < j1; j += NR)
              pack(&call.b(from + k0, jc + j), call.b.col_stride, std::min(NR, nb - j), call.b.row_stride,
                   std::min(few, count - k0), positions != nullptr ? positions + k0 : nullptr,
                   scaled && transpose ? call.alpha : T(1), b_packed + j * count + (positions != nullptr ? 0 : k0 * NR), NR);
        };
        if (!by_block) pack_b(0, nb, 0, k);
        for (std::size_t b = 0; b < schedule.blocks.size(); ++b) {
          const Index begin = schedule.blocks[b].begin, depth = Index(schedule.blocks[b].end) - begin;
          const bool packs_a = jc == 0 && (by_block || b == 0);
          const auto a_panel = [&](Index r, Index from) {
            return a_packed + (keep_a ? r * k + from : by_block ? 0 : from) * a_width;
          };
          // What the kernels fetch meanwhile, so that packing finds it near: in the first row of tiles the next panel of B,
          // two lines of each row; then two rows of A a tile.
          const auto look_ahead = [&](Index r, Index tile) {
            t.ahead = t.a, t.ahead_k = t.ahead_next = 0;
            if constexpr (std::is_same_v<T, S>) {
              const Index j = (tile + 1) * NR, row = 2 * (tile - std::max<Index>(0, col_tiles - ceil_div(MR, 2)));
              if (!by_block) return;
              if (r == 0 && call.b.col_stride == 1 && j < nb) {
                t.ahead = &call.b(begin, jc + j), t.ahead_k = call.b.row_stride;
                t.ahead_next = std::min(64 / Index(sizeof(S)), nb - j - 1);
              } else if (packs_a && call.a.col_stride == 1 && row >= 0 && row_of(r + 1) + row < row_of(r + 2)) {
                t.ahead = &call.a(ic + row_of(r + 1) + row, begin), t.ahead_k = 1;
                t.ahead_next = row_of(r + 1) + row + 1 < row_of(r + 2) ? call.a.row_stride : 0;
              }
            }
          };
          for (Index r = 0; r < row_tiles; ++r) {
            const Index i = row_of(r);
            t.rows = int(row_of(r + 1) - i);
            t.a = a_panel(r, begin);
            if (packs_a) {
              const Index from = by_block ? begin : 0;
              pack(&call.a(ic + i, from), call.a.row_stride, t.rows, call.a.col_stride, by_block ? depth : k, positions,
                   scaled && !transpose ? call.alpha : T(1), a_panel(r, from), a_width);
            }
            for (Index j = 0, tile = 0; j < nb; j += NR, ++tile) {
              t.cols = int(std::min(NR, nb - j));
              const KernelSet<S>& set = set_->narrow != nullptr && t.cols <= set_->narrow->width ? *set_->narrow : *set_;
              const Index v = ceil_div(t.cols, set.width);
              t.b = by_block ? b_packed + j * depth : b_packed + j * k + begin * NR;
              if (by_block && r == 0) pack_b(j, j + 1, begin, depth);
              look_ahead(r, tile);
              if (direct && b + 1 == schedule.blocks.size()) prefetch_rows(block(call.c, ic + i, jc + j, t.rows, t.cols));
              run_tile(call, alpha, direct, schedule, b, set.packed[v][t.rows], t, v * set.width, tiles, memory,
                       r * (nc / NR) + tile, ic + i, jc + j);
            }
          }
        }
      }
    }
  }

  // ---- strided
  // ------------------------------------------------------------------------------------------------------------

  // How the strided kernels cover m x n: `row_tiles` rows of tiles, each `vectors` wide except at the end.
  struct Shape {
    const KernelSet<S>* set;
    int vectors;
    Index row_tiles, col_tiles;
  };
  struct TileAt {
    Index i, j, rows, cols, index;
    int vectors;
    const KernelSet<S>* set;
    TileKernel<S> kernel() const { return set->strided[vectors][rows]; }
  };

  bool fits_narrow(Index cols) const { return set_->narrow != nullptr && cols <= set_->narrow->width; }

  // Rows that the strided kernel of v vectors can take, 0 if there is none.
  static int most_rows(const KernelSet<S>& set, int v) {
    int r = 0;
    while (r < KernelSet<S>::max_rows && set.strided[v][r + 1] != nullptr) ++r;
    return r;
  }

  // `at_most`: rows of A that may be read side by side.
  Shape shape_of(Index m, Index n, int at_most = KernelSet<S>::max_rows) const {
    Shape s{fits_narrow(n) ? set_->narrow : set_, 1, 1, 1};
    const Index W = s.set->width;
    if (n > W) s.vectors = 2;
    // Few rows: wider tiles, so that enough chains are in flight and rows of B are read in long pieces.
    for (int wide : {8, 4})
      if (ceil_div(n, W) >= wide && most_rows(*s.set, wide) >= m) {
        s.vectors = wide;
        break;
      }
    const int rows = std::min(most_rows(*s.set, s.vectors), at_most);
    if (m > rows) s.row_tiles = ceil_div(ceil_div(m, 2), rows / 2);
    s.col_tiles = ceil_div(n, s.vectors * W) + 3;  // a remainder may take four, less the one counted
    return s;
  }

  // First row and number of rows of a row of tiles. Rows are dealt in pairs, so that the tiles fit the even kernels.
  static std::pair<Index, Index> rows_of(const Shape& s, Index tile, Index m) {
    const Index pairs = ceil_div(m, 2), i = tile * pairs / s.row_tiles * 2;
    return {i, std::min(m, (tile + 1) * pairs / s.row_tiles * 2) - i};
  }

  // Into how many rows of tiles m rows are cut where they are swept; 0: they are not.
  Index sweeps(Index m) const {
    Index most = KernelSet<S>::max_rows;
    while (most > 0 && set_->sweep[most] == nullptr) --most;
    const Index count = ceil_div(ceil_div(m, 2) * 2, most);
    return m <= most ? 1 : count <= 3 ? count : 0;
  }

  // f(tile) for all tiles from column `begin` on, the smaller operand innermost.
  template <class F>
  void each_tile(const Shape& s, Index begin, Index m, Index n, F&& f) const {
    const Index W = s.set->width;
    const auto with_rows = [&](Index tile, TileAt at) {
      std::tie(at.i, at.rows) = rows_of(s, tile, m);
      at.index += tile * s.col_tiles;
      f(at);
    };
    const auto columns = [&](auto&& g) {
      TileAt at{};
      at.j = begin, at.index = begin / (s.vectors * W);
      for (; at.j < n; ++at.index) {
        at.vectors = s.vectors;
        while ((at.vectors - 1) * W >= n - at.j) at.vectors /= 2;
        // Where a vector is as slow as two of half its width, a remainder of one and a half is not worth two.
        if (at.vectors == 2 && blocking().split_vectors && n - at.j > W && fits_narrow(n - at.j - W)) at.vectors = 1;
        at.set = fits_narrow(n - at.j) ? set_->narrow : s.set;
        at.cols = std::min(at.vectors * W, n - at.j);
        g(at);
        at.j += at.vectors * W;
      }
    };
    if (m > n) {
      for (Index tile = 0; tile < s.row_tiles; ++tile) columns([&](const TileAt& at) { with_rows(tile, at); });
    } else {
      columns([&](const TileAt& at) {
        for (Index tile = 0; tile < s.row_tiles; ++tile) with_rows(tile, at);
      });
    }
  }

  void strided(const Call<T>& call, bool copy_b) const {
    if constexpr (std::is_same_v<T, S>) {
      const Index m = call.c.rows, n = call.c.cols, k = call.a.cols;
      // Rows that a multiple of the page apart share the sets of the first-level cache, of 8 ways or more.
      const bool collide = m > n && k * Index(sizeof(S)) > 4096 && call.a.row_stride * Index(sizeof(S)) % 4096 == 0;
      Shape shape = shape_of(m, n, collide ? 8 : KernelSet<S>::max_rows);
      const bool stream = !copy_b && !by_piece_ && n > shape.vectors * shape.set->width &&
                          double(n) * double(k) * sizeof(S) > double(blocking().stream_bytes);
      const Index row_tiles = sweeps(m);
      const bool sweep = stream && row_tiles > 0;
      if (sweep) shape = {shape.set, 2, row_tiles, ceil_div(n, 2 * shape.set->width) + 3};
      const Index width = shape.vectors * shape.set->width;
      const Schedule& schedule = stream ? stream_ : strided_;
      const bool direct = plain(call, call.alpha) && (call.c.col_stride == 1 || n == 1);

      Layout layout;
      Tiles tiles;
      tiles.add(layout, schedule, (m == 1 ? 1 : 2 * ceil_div(ceil_div(m, 2), shape.row_tiles)) * width,
                keeps(schedule) ? shape.row_tiles * shape.col_tiles : 0);
      const std::size_t b_at = layout.add<S>(copy_b ? round_up(n, width) * k : 0);
      std::byte* memory = Workspace::of_this_thread().get(layout.bytes());
      S* const b_copy = reinterpret_cast<S*>(memory + b_at);
      if (copy_b)
        for (Index j = 0; j < n; j += width)
          pack(&call.b(0, j), call.b.col_stride, std::min(width, n - j), call.b.row_stride, k, nullptr, T(1), b_copy + j * k,
               width);

      TileCall<S> t;
      t.a_row = call.a.row_stride;
      t.a_k = call.a.col_stride;
      t.b_k = copy_b ? width : call.b.row_stride;
      for (std::size_t b = 0; b < schedule.blocks.size(); ++b) {
        const bool last = b + 1 == schedule.blocks.size();
        Index swept = 0;
        if (sweep && !schedule.blocks[b].seeded && (direct || !last)) {
          swept = n / width * width;
          for (Index tile = 0; tile < row_tiles; ++tile) {
            const auto [i, rows] = rows_of(shape, tile, m);
            t.rows = int(rows), t.cols = int(swept);
            t.a = call.a.data + i * call.a.row_stride, t.b = call.b.data;
            t.low_step = Index(schedule.kept_entries) * tiles.size;
            run_tile(call, call.alpha, direct, schedule, b, set_->sweep[rows], t, width, tiles, memory,
                     tile * shape.col_tiles, i, 0);
          }
        }
        each_tile(shape, swept, m, n, [&](const TileAt& at) {
          t.rows = int(at.rows);
          t.cols = int(at.cols);
          t.a = call.a.data + at.i * call.a.row_stride;
          t.b = copy_b ? b_copy + at.j / width * width * k + at.j % width : call.b.data + at.j;
          run_tile(call, call.alpha, direct, schedule, b, at.kernel(), t, at.vectors * at.set->width, tiles, memory,
                   at.index, at.i, at.j);
        });
      }
    }
  }

  // One row of C and columns of B that are contiguous.
  void along_k(const Call<T>& call) const {
    if constexpr (std::is_same_v<T, S>) {
      const Index n = call.c.cols, whole = n / columns_along_k * columns_along_k;
      const bool direct = plain(call, call.alpha) && call.c.col_stride == 1;
      Layout layout;
      Tiles tiles;
      tiles.add(layout, strided_, columns_along_k, 0);
      const bool copy = call.a.col_stride != 1;
      const std::size_t a_at = layout.add<S>(copy ? call.a.cols : 0);
      std::byte* memory = Workspace::of_this_thread().get(layout.bytes());
      S* const a_copy = reinterpret_cast<S*>(memory + a_at);
      for (Index k = 0; copy && k < call.a.cols; ++k) a_copy[k] = call.a(0, k);
      TileCall<S> t;
      t.b_k = call.b.col_stride;
      t.rows = 1;
      t.cols = columns_along_k;
      for (Index j = 0; j < whole; j += columns_along_k) {
        t.a = copy ? a_copy : call.a.data;
        t.b = call.b.data + j * call.b.col_stride;
        run_tile(call, call.alpha, direct, strided_, 0, set_->along_k, t, columns_along_k, tiles, memory, 0, 0, j);
      }
      if (whole == n) return;
      const Call<T> rest = part(call, 0, whole, 1, n - whole);
      const Way way = choose(rest);
      rectangle(way.transpose ? transposed(rest) : rest, way);
    }
  }

  // A tile of a small product.
  struct SmallTile {
    Index i, j;
    int rows, cols;
    TileKernel<S> kernel;
  };
  static constexpr Index largest_small = 160 * 160;

  bool run_small(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<T>& c) const override {
    if constexpr (std::is_same_v<T, S>) {
      if (small_.empty()) return false;
      TileCall<S> t;
      t.step = strided_.steps.data();
      t.end = t.step + strided_.steps.size();
      t.a_row = a.row_stride;
      t.a_k = a.col_stride;
      t.b_k = b.row_stride;
      t.c_row = c.row_stride;
      if (strided_.depth > 1)
        t.high = reinterpret_cast<S*>(Workspace::of_this_thread().get(strided_.depth * KernelSet<S>::max_rows *
                                                                      KernelSet<S>::max_vectors * set_->width * sizeof(S)));
      for (const SmallTile& tile : small_) {
        t.rows = tile.rows;
        t.cols = tile.cols;
        t.a = a.data + tile.i * a.row_stride;
        t.b = b.data + tile.j;
        t.c = c.data + tile.i * c.row_stride + tile.j;
        tile.kernel(t);
      }
      return true;
    } else {
      return false;
    }
  }

  InputRounding input_;
  Epilogue epilogue_;
  Format out_;
  Program program_;
  bool by_piece_ = false;
  Format piece_round_ = Format::none;
  S no_seed_ = 0;
  std::vector<std::uint32_t> positions_;  // of each k; empty where the program keeps the natural order
  bool one_piece_ = false, fused_end_ = false, mul_ = false, in_place_ = false, unit_strides_ = false;
  Index kc_ = 0;  // most values of K in a block
  const KernelSet<S>* set_ = nullptr;
  Schedule packed_, strided_, stream_;
  std::vector<SmallTile> small_;
};

// The whole sum where the epilogue leaves it one, else its pieces.
template <class T>
class PieceProduct final : public Product<T> {
 public:
  PieceProduct(std::unique_ptr<Product<T>> whole, std::unique_ptr<Product<T>> pieces)
      : whole_(std::move(whole)), pieces_(std::move(pieces)) {}
  void run(const Call<T>& call, int threads) const override {
    (whole_ && whole_->can_run(call.alpha, call.beta) ? whole_ : pieces_)->run(call, threads);
  }
  bool can_run(T alpha, T beta) const override { return pieces_->can_run(alpha, beta); }
  bool run_small(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<T>& c) const override {
    return whole_ && whole_->run_small(a, b, c);
  }
  std::string kernel() const override { return pieces_->kernel(); }

 private:
  std::unique_ptr<Product<T>> whole_, pieces_;
};

}  // namespace

template <class T>
std::unique_ptr<Product<T>> make_product(const Order& order, Index m, Index n, Index k, const std::string& isa) {
  const Tree tree = order.tree(static_cast<std::size_t>(k));
  const auto on_kernels = [&](Pieces code) -> std::unique_ptr<Product<T>> {
    if constexpr (std::is_same_v<T, float>) {
      if (code.program.wide) return std::make_unique<KernelProduct<float, double>>(order, tree, std::move(code), m, n, isa);
    }
    return std::make_unique<KernelProduct<T, T>>(order, tree, std::move(code), m, n, isa);
  };
  std::unique_ptr<Product<T>> whole;
  if (is_program(tree)) whole = on_kernels({.program = compile(tree), .ends = {}});
  const Epilogue epilogue = order.epilogue();
  if (whole && epilogue.alpha != Epilogue::Alpha::block && epilogue.c != Epilogue::C::first) return whole;
  std::optional<Pieces> pieces = compile_pieces(tree);
  if (!pieces) return whole;
  return std::make_unique<PieceProduct<T>>(std::move(whole), on_kernels(std::move(*pieces)));
}
template std::unique_ptr<Product<float>> make_product(const Order&, Index, Index, Index, const std::string&);
template std::unique_ptr<Product<double>> make_product(const Order&, Index, Index, Index, const std::string&);

}  // namespace samebits::cpu
