// SPDX-License-Identifier: Apache-2.0
// OpenBLAS 0.3.21 to 0.3.30 on x86-64 (DYNAMIC_ARCH builds). Sources: driver/level3/level3.c and level3_thread.c (K blocks,
// row blocks, threads), kernel/x86_64/sgemm_kernel_8x4_haswell_2.c, dgemm_kernel_16x2_skylakex.c,
// *_small_kernel_*_skylakex.c, [sd]gemv_[nt]_4.c, [sd]dot.c. The library is column-major: a row-major C is its transpose, so
// its m is our n.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

// param.h: GEMM_Q, GEMM_UNROLL_M x GEMM_UNROLL_N, GEMM_P.
struct Blocking {
  Index q, unroll_m, unroll_n, p;
};

Blocking blocking(DType type, const std::string& core) {
  const bool single = type == DType::f32;
  if (core == "haswell") return single ? Blocking{320, 8, 4, 320} : Blocking{256, 4, 8, 512};
  if (core == "skylakex") return single ? Blocking{448, 16, 4, 448} : Blocking{384, 16, 2, 192};
  return single ? Blocking{320, 16, 4, 640} : Blocking{384, 16, 2, 192};
}

constexpr Index divide_rate = 2;
constexpr Index thread_products = 65536 * 4;  // SMP_THRESHOLD_MIN * GEMM_MULTITHREAD_THRESHOLD

// --- Position maps: which elements of C run another order than the chain. In the library's terms: rows i are our columns,
// columns j our rows.

using Mark = std::function<void(Index i, Index rows, Index j, Index columns, const char* order)>;

// Even and odd k in separate chains, eight k at a time; the rest goes to the even one.
constexpr const char* even_odd = "lanes(2, step=8, fold=left, tail=lane0) > fma";

// One call of sgemm_kernel_8x4_haswell_2.c.
void haswell_sgemm_kernel(Index i, Index m, Index j, Index n, const Mark& mark) {
  const Index blocks = m / 8;
  for (; n >= 12; j += 12, n -= 12) {
    if (m < 16) continue;
    mark(i, 8, j, 6, even_odd);
    const Index last = i + (blocks - 1) * 8;
    if (blocks % 2 == 0) mark(last, 8, j, 6, even_odd);
    if (blocks % 2 == 1) mark(last, 8, j + 6, 6, even_odd);
  }
  if (n >= 8) j += 8, n -= 8;
  if (n >= 4) mark(i, blocks * 8, j, 4, even_odd);
}

// One call of dgemm_kernel_4x8_haswell.S: a single last column.
void haswell_dgemm_kernel(Index i, Index m, Index j, Index n, const Mark& mark) {
  if (n % 2) mark(i, m / 4 * 4, j + n - 1, 1, "lanes(4, step=8, fold=pairs, tail=lane0) > fma");
}

// One call of dgemm_kernel_16x2_skylakex.c: the row edges of panels of twelve columns.
void skylakex_dgemm_kernel(Index i, Index m, Index j, Index n, const Mark& mark) {
  const Index width = n / 12 * 12, fours = i + m / 8 * 8, rest = i + m / 4 * 4;
  mark(fours, rest - fours, j, width, "lanes(2, fold=left, tail=chain) > fma");
  mark(rest, i + m - rest, j, width, "lanes(4, fold=pairs, tail=chain) > fma");
}

using Kernel = void (*)(Index, Index, Index, Index, const Mark&);

// Length of the next row block.
Index row_block(Index rows, const Blocking& b, bool halves_up) {
  if (rows >= 2 * b.p) return b.p;
  return rows > b.p ? round_up((rows + (halves_up ? 1 : 0)) / 2, b.unroll_m) : rows;
}

// level3.c: the first row block meets the columns in small pieces, the others all at once.
void pieces(Index i, Index m, Index j, Index n, const Blocking& b, Kernel kernel, const Mark& mark) {
  for (Index end = j + n, step; j < end; j += step) {
    step = end - j;
    if (step >= 3 * b.unroll_n) {
      step = 3 * b.unroll_n;
    } else if (step > b.unroll_n) {
      step = b.unroll_n;
    }
    kernel(i, m, j, step, mark);
  }
}

void one_thread(Index m, Index n, const Blocking& b, Kernel kernel, const Mark& mark) {
  const Index first = row_block(m, b, false);
  pieces(0, first, 0, n, b, kernel, mark);
  for (Index i = first, step; i < m; i += step) {
    step = row_block(m - i, b, false);
    kernel(i, step, 0, n, mark);
  }
}

// Starts of `parts` parts of [begin, begin + count), as equal as can be, the longer ones first, none shorter than `least`.
std::vector<Index> cuts(Index begin, Index count, Index parts, Index least = 1) {
  std::vector<Index> starts{begin};
  for (Index p = 0; p < parts; ++p) {
    const Index left = begin + count - starts.back();
    starts.push_back(starts.back() + std::min(left, std::max(least, ceil_div(left, parts - p))));
  }
  return starts;
}

// level3_thread.c: a grid of threads; each packs its own columns in pieces, and takes those of the others as they come.
void grid(Index m, Index n, Index threads_m, Index threads_n, Index least, const Blocking& b, Kernel kernel,
          const Mark& mark) {
  const auto rows = cuts(0, m, threads_m);
  const auto columns = cuts(0, n, threads_n);
  for (Index tn = 0; tn < threads_n; ++tn) {
    const auto owned = cuts(columns[tn], columns[tn + 1] - columns[tn], threads_m, least);
    for (Index tm = 0; tm < threads_m; ++tm) {
      for (Index i = rows[tm], step; i < rows[tm + 1]; i += step) {
        const bool first = i == rows[tm];
        step = row_block(rows[tm + 1] - i, b, !first);
        for (Index owner = 0; owner < threads_m; ++owner) {
          const Index begin = owned[owner], end = owned[owner + 1], width = ceil_div(end - begin, divide_rate);
          for (Index j = begin; j < end; j += width) {
            const Index count = std::min(width, end - j);
            if (first && owner == tm) {
              pieces(i, step, j, count, b, kernel, mark);
            } else {
              kernel(i, step, j, count, mark);
            }
          }
        }
      }
    }
  }
}

// Threads along m and n, 1 x 1 where the product is too small.
std::pair<Index, Index> thread_grid(Index m, Index n, Index k, Index threads, bool old, Index switch_ratio) {
  const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (products <= thread_products) return {1, 1};
  if (!old)
    threads =
        std::max<Index>(1, static_cast<Index>(std::min<double>(static_cast<double>(threads), products / thread_products)));
  Index threads_m = 1, threads_n = 1;
  if (m >= 2 * switch_ratio)
    for (threads_m = threads; m < threads_m * switch_ratio;) threads_m /= 2;
  if (n >= switch_ratio * threads_m) {
    threads_n = ceil_div(n, switch_ratio * threads_m);
    if (threads_m * threads_n > threads) threads_n = threads / threads_m;
  }
  return {threads_m, threads_n};
}

// Small-matrix kernels: no K blocks; sums over k in vector lanes, folded four outputs at a time (pairs) or one (halves).
Areas small_matrix(const Call& call) {
  const Index lanes = call.dtype == DType::f32 ? 16 : 8;
  const std::string fours = fmt::format("lanes({}, fold=pairs, tail=lanes) > fma", lanes);
  const std::string ones = fmt::format("lanes({}, fold=halves, tail=lanes) > fma", lanes);
  Areas areas(call.m, call.n);
  Index begin = call.n;  // first column that runs in lanes
  if (call.trans_b && !call.trans_a) {
    begin = 0;
  } else if (!call.trans_a && call.k >= (call.dtype == DType::f32 ? 32 : 16) && call.n % lanes <= lanes / 2) {
    begin = call.n / lanes * lanes;
  }
  areas.add({call.m / 4 * 4, call.m, 1}, {std::max(begin, call.n / 4 * 4), call.n, 1}, ones);
  areas.add(areas.all_rows(), {begin, call.n, 1}, fours);
  areas.rest("fma");
  return areas;
}

bool small_matrix_permitted(const Call& call, const std::string& core) {
  if (core == "haswell") return false;
  if (static_cast<double>(call.m) * static_cast<double>(call.n) * static_cast<double>(call.k) > 1e6) return false;
  if (call.trans_a && call.trans_b) return true;
  return !call.trans_b || (call.m * call.n <= 1200 && call.k >= 32);
}

// --- gemv

// 8 lanes; the first four leaves when their number is odd in fours, in lanes 0 to 3.
std::string sgemv_t_lanes(Index begin, Index end) {
  const Index head = (end - begin) % 8;  // 0 or 4
  auto lanes = lane_sums(begin + head, end, 8);
  for (Index l = 0; l < head; ++l) lanes[l] = then(leaves(begin + l, begin + l + 1), lanes[l]);
  return fold(lanes, Fold::hadd);
}

// sgemv_t on SKYLAKEX for k <= 8 and a dense matrix; `last`: outputs left after the vector groups.
std::string sgemv_t_tiny(Index k, Index output, Index outputs) {
  const Index in16 = outputs / 16 * 16, in8 = outputs / 8 * 8, in4 = outputs / 4 * 4, in2 = outputs / 2 * 2;
  switch (k) {
    case 2:
      return output < in16 ? "fma" : "mul";
    case 3:
      if (output < in8) return "fma";
      return output < in4 || output >= in2 ? "tree(1 + 0 + 2) > fma" : "mul";
    case 4:
      return output < in2 ? "chunks(2) > mul" : "mul";
    case 5:
      return output < in4 ? "fma" : "mul";
    case 6:
      if (output < in8) return "fma";
      return output < in4 ? "tree(2 + 1 + 0:mul + (5 + 4 + 3:mul)) > fma" : "mul";
    case 7:
      if (output < in8) return "fma";
      return output < in4 ? "tree(1 + 0 + (5 + 4) + (3 + 2 + 6:mul)) > fma" : "mul";
    case 8:
      if (output < in4) return "tree(0 + 1 + (2 + 3) + (4 + 5 + (6 + 7))) > mul";
      return output < in2 ? "tree(0 + 1 + (4 + 5) + (2 + 3 + (6 + 7))) > mul"
                          : "tree(0 + 4 + (1 + 5) + (2 + 6) + (3 + 7)) > mul";
    default:
      return "mul";
  }
}

// Dot style: y_j = row j of M times x. Blocks of K, then k % 4 leaves as one sum; groups of four outputs, then two, then
// one.
std::string gemv_t(const Call& call, const std::string& core, Index output, Index outputs) {
  const Index k = call.k, main = k / 4 * 4;
  const bool single = call.dtype == DType::f32, four = output < outputs / 4 * 4, two = !four && output < outputs / 2 * 2;
  if (single && core != "haswell" && k <= 8) return sgemv_t_tiny(k, output, outputs);
  const std::string op = four ? "fma" : "mul";
  std::string text;
  for (Index begin = 0, length = single ? 4096 : 2048; begin < main; begin += length) {
    const Index end = std::min(main, begin + length);
    if (two) {
      text = plus(std::move(text), fold(lane_sums(begin, end, single ? 4 : 2), Fold::pairs));
    } else {
      text = plus(std::move(text), single ? sgemv_t_lanes(begin, end) : fold(lane_sums(begin, end, 4), Fold::halves));
    }
  }
  // The compiler fuses the tail, from the second product on, except in Haswell's sgemv_t.
  const bool fused = !single || core != "haswell";
  const std::string_view tail_op = fused == four ? "" : fused ? ":fma" : ":mul";
  if (k - main <= 1 || !fused) {
    const std::string tail = leaves(main, k, 1, tail_op);
    return tree(k - main <= 1 ? then(text, tail) : plus(text, tail), op);
  }
  return tree(plus(text, then(leaves(main + 1, main + 2, 1, tail_op),
                              then(leaves(main, main + 1, 1, tail_op), leaves(main + 2, k, 1, tail_op)))),
              op);
}

// Up to three outputs of a dense matrix: pairs of k (one output: fours), four k at a time.
std::string gemv_n_few(Index k, bool haswell, Index outputs) {
  const Index step = outputs == 1 ? 4 : 2, main = k / 4 * 4;
  std::string text;
  for (Index i = 0; i < main; i += step)  // a compiler that fuses does so from the second product on
    text = plus(std::move(text),
                haswell ? leaves(i, i + step) : then(fmt::format("{} + {}", i + 1, i), leaves(i + 2, i + step)));
  return tree(then(text, leaves(main, k)), haswell ? "mul" : "fma");
}

// Axpy style: y += x_k times column k. sgemv_n takes eight k at a time, then four, two, one.
std::string sgemv_n(const Call& call, const std::string& core, Index output, Index outputs, bool dense) {
  const Index k = call.k;
  const bool haswell = core == "haswell";
  if (!haswell && outputs <= 16384 && k <= 48 && k != 4) return "fma";
  const Index fours = outputs / 4 * 4;
  if (output >= fours) return outputs < 4 && dense ? gemv_n_few(k, haswell, outputs) : haswell ? "mul" : "fma";
  // Within blocks of 4096 outputs: a first group of four and one of eight run even and odd k apart, groups of 16 do not.
  const Index block = output / 4096 * 4096, length = std::min<Index>(4096, fours - block);
  const bool apart = output - block < length % 16;
  auto group = [&](Index begin, Index end) {
    return apart ? plus(leaves(begin, end, 2), leaves(begin + 1, end, 2)) : leaves(begin, end);
  };
  std::string text;
  Index i = 0;
  for (; i + 8 <= k; i += 8) text = plus(std::move(text), group(i, i + 8));
  if (i + 4 <= k) text = plus(std::move(text), group(i, i + 4)), i += 4;
  if (haswell) return tree(then(text, leaves(i, k, 1, ":mul")), "fma");
  if (i + 2 <= k) text = plus(std::move(text), leaves(i, i + 2)), i += 2;
  return tree(then(text, leaves(i, k, 1, ":mul")), "fma");
}

// dgemv_n: four k at a time, then two, then one.
std::string dgemv_n(const Call& call, const std::string& core, Index output, Index outputs, bool dense) {
  const Index k = call.k, fours = k / 4 * 4;
  const bool haswell = core == "haswell";
  if (output >= outputs / 4 * 4) return outputs < 4 && dense ? gemv_n_few(k, haswell, outputs) : haswell ? "mul" : "fma";
  std::string text;
  for (Index i = 0; i < fours; i += 4)
    text = plus(std::move(text), haswell ? plus(leaves(i, i + 4, 2), leaves(i + 1, i + 4, 2))
                                         : fmt::format("{} + {} + {} + {}", i + 1, i, i + 2, i + 3));
  if (k - fours >= 2)
    text = plus(std::move(text), haswell ? leaves(fours, fours + 2, 1, ":mul") : fmt::format("{} + {}", fours + 1, fours));
  if (k % 2) text = then(std::move(text), leaves(k - 1, k, 1, ":mul"));
  return tree(text, "fma");
}

// --- dot

// Four accumulators of 32 bytes. The AVX-512 kernels begin with 64 bytes, which are folded before a last block of 32.
std::string dot_tree(DType type, bool haswell, Index begin, Index end) {
  const bool single = type == DType::f32;
  const Index width = single ? 8 : 4, block = 4 * width;
  const Index main = begin + (end - begin) / block * block;
  const Index wide = haswell ? begin : begin + (end - begin) / (2 * block) * 2 * block;
  const std::string_view op = single ? ":fma" : "";
  auto lane = [&](Index accumulator, Index l) {
    const Index at = begin + 2 * width * accumulator + l;
    return then(plus(leaves(at, wide, 2 * block, op), leaves(at + width, wide, 2 * block, op)),
                leaves(wide + width * accumulator + l, main, block, op));
  };
  std::vector<std::string> lanes;
  for (Index l = 0; l < width / 2; ++l) {
    std::vector<std::string> low, high, sums;
    for (Index a = 0; a < 4; ++a) {
      low.push_back(lane(a, l));
      high.push_back(lane(a, l + width / 2));
      sums.push_back(plus(low.back(), high.back()));
    }
    lanes.push_back(haswell ? fold(sums, Fold::pairs) : plus(fold(low, Fold::left), fold(high, Fold::left)));
  }
  return then(fold(lanes, Fold::pairs), single ? "" : leaves(main, end, 1, haswell ? ":mul" : ""));
}

}  // namespace

const std::string& openblas_core(const Keys& keys, std::string_view key) {
  static const std::string haswell = "haswell", cooperlake = "cooperlake";
  const std::string& core = choice(keys, key, {"haswell", "skylakex", "cooperlake", "zen", "sapphirerapids"});
  if (core == "zen") return haswell;
  return core == "sapphirerapids" ? cooperlake : core;
}

Threads openblas_threads(const Keys& keys, std::string_view version) {
  return {static_cast<int>(number(keys, "threads", 1, 1024)), choice(keys, version, {"0.3.27", "0.3.21"}) == "0.3.21"};
}

Areas openblas_gemm(const Call& call, const std::string& core, Threads threads) {
  if (small_matrix_permitted(call, core)) return small_matrix(call);
  const Blocking b = blocking(call.dtype, core);
  const Index switch_ratio = threads.old ? 2 : core == "haswell" ? 8 : 16;  // least rows and columns of a thread's part
  const auto [threads_m, threads_n] = thread_grid(call.n, call.m, call.k, threads.count, threads.old, switch_ratio);
  const bool threaded = threads_m * threads_n > 1;
  const std::string chunks = call.k <= b.q ? ""
                             : threaded    ? fmt::format("chunks({}, balance=half) > ", b.q)
                                           : fmt::format("chunks({}, balance={}) > ", b.q, b.unroll_m);
  Areas areas(call.m, call.n);
  areas.rest(chunks + "fma");
  const bool haswell = core == "haswell", single = call.dtype == DType::f32;
  if (!haswell && single) return areas;
  const Kernel kernel = !haswell ? skylakex_dgemm_kernel : single ? haswell_sgemm_kernel : haswell_dgemm_kernel;
  const Mark mark = [&](Index i, Index rows, Index j, Index columns, const char* order) {
    areas.add({j, j + columns, 1}, {i, i + rows, 1}, chunks + order);
  };
  if (threaded) {
    grid(call.n, call.m, threads_m, threads_n, threads.old ? 1 : switch_ratio, b, kernel, mark);
  } else {
    one_thread(call.n, call.m, b, kernel, mark);
  }
  return areas;
}

std::optional<Areas> openblas_gemv(const Call& call, const std::string& core, bool dot_style, Threads threads) {
  // Threads divide the outputs (interface/gemv.c: from this size on).
  const Index outputs = std::max(call.m, call.n),
              parts = call.k * outputs < (threads.old ? 9216 : 460800) ? 1 : threads.count;
  if (!dot_style && ceil_div(outputs, 4) < parts) return {};  // threads divide K
  Areas areas(call.m, call.n);
  auto add = [&](Index begin, Index end, const std::string& order) {
    const Range range{begin, end, 1}, one{0, 1, 1};
    areas.add(call.n == 1 ? range : one, call.n == 1 ? one : range, order);
    areas.rest(order);
  };
  const auto starts = cuts(0, outputs, parts, 4);
  for (Index part = 0; part < parts; ++part) {
    const Index first = starts[part], count = starts[part + 1] - first;
    // Where the kernels change hands; the outputs between two such places have the same order.
    std::vector<Index> changes{count / 2 * 2, count / 4 * 4, count / 8 * 8, count / 16 * 16, count};
    for (Index block = 0; !dot_style && block < count; block += 4096)
      changes.insert(changes.end(), {block, std::min(count, block + std::min<Index>(4096, count / 4 * 4 - block) % 16)});
    std::sort(changes.begin(), changes.end());
    Index begin = 0;
    for (const Index end : changes) {
      if (end <= begin) continue;
      add(first + begin, first + end,
          dot_style                  ? gemv_t(call, core, begin, count)
          : call.dtype == DType::f32 ? sgemv_n(call, core, begin, count, parts == 1)
                                     : dgemv_n(call, core, begin, count, parts == 1));
      begin = end;
    }
  }
  return areas;
}

std::string openblas_dot(DType type, Index k, const std::string& core, Threads threads) {
  const bool single = type == DType::f32, haswell = core == "haswell";
  const Index block = single ? 32 : 16;
  if (single && k < block) return "f64 > mul(round=f32)";
  if (!single && threads.count > 1 && k > 10000) {
    std::string text;
    const auto starts = cuts(0, k, threads.count);
    for (int t = 0; t < threads.count; ++t) text = plus(std::move(text), dot_tree(type, haswell, starts[t], starts[t + 1]));
    return tree(text, "fma");
  }
  const Index main = k / block * block;
  const std::string sum = dot_tree(type, haswell, 0, single ? main : k);
  // sdot adds what is left over in double.
  return single ? "f64 > " + tree(plus(fmt::format("f32({})", sum), leaves(main, k)), "mul(round=f32)") : tree(sum, "fma");
}

namespace {

std::optional<Order> order(const Call& call, const Keys& keys) {
  const std::string& core = openblas_core(keys, "core");
  const Threads threads = openblas_threads(keys, "version");
  const std::string& routine = choice(keys, "call", {"gemm", "gemv", "dot"});
  const Batch calls = batch(call);
  const Call& one = calls.inner;
  Areas areas(one.m, one.n);
  if (routine == "dot") {
    if (one.m != 1 || one.n != 1) return {};
    areas.rest(openblas_dot(one.dtype, one.k, core, threads));
  } else if (routine == "gemv") {
    if (one.m != 1 && one.n != 1) return {};
    const auto outputs = openblas_gemv(one, core, one.m == 1 ? one.trans_b : !one.trans_a, threads);
    if (!outputs) return {};
    areas = *outputs;
  } else {
    areas = openblas_gemm(one, core, threads);
  }
  return areas.repeated(calls.outer).order();
}

}  // namespace

Profile openblas() {
  return {"openblas",
          "OpenBLAS 0.3.21 to 0.3.30 on x86-64, DYNAMIC_ARCH, C without a start value (beta = 0)",
          {"recorded through NumPy (0.3.27, Haswell and SkylakeX cores, 1 and 2 threads): every element",
           "0.3.27 run on Haswell, Zen and SkylakeX cores: gemm in four layouts, gemv, dot, float32 and float64, 1 to 3 "
           "threads, 3986 products "
           "a core, every element",
           "0.3.21 run on Haswell, Zen and Cooperlake cores: 3966 products a core, every element",
           "sapphirerapids and 0.3.28 to 0.3.30: source reading only; gemv whose K is divided among threads: no rule"},
          {{"core",
            {"haswell", "skylakex", "cooperlake"},
            "kernel set (OPENBLAS_CORETYPE); zen is haswell, sapphirerapids is cooperlake"},
           {"threads", {"1", "2", "4", "8"}, "threads of the library"},
           {"version", {"0.3.27", "0.3.21"}, "from which size on threads are used: as of 0.3.27, or as of 0.3.21"},
           {"call", {"gemm", "gemv", "dot"}, "routine; gemv: one row or column, dot: one element"}},
          order};
}

}  // namespace samebits::profiles
