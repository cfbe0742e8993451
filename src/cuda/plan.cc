// SPDX-License-Identifier: Apache-2.0
#include "cuda/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace samebits::cuda {
namespace {

using enum KernelId;

constexpr std::size_t most_pieces = 64;

Index tiles(Index extent, int tile) { return (extent + tile - 1) / tile; }
std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

[[noreturn]] void unsupported(const std::string& why) { throw Error(Code::unsupported, "cuda: " + why); }
[[noreturn]] void invalid(const std::string& why) { throw Error(Code::invalid_argument, "cuda: " + why); }

// Products of one instruction whose blocks are mma(L, F) on the architecture.
int tensor_instruction(int architecture, int block, int fraction) {
  const bool hopper = architecture >= 90;
  if (!hopper && block == 4 && fraction == 24) return 8;  // two blocks of four
  if (hopper && block == 8 && fraction == 25) return 8;
  if (architecture >= 90 && architecture < 100 && block == 4 && fraction == 25) return 4;
  const char* offers = !hopper ? "mma(4,24)" : architecture < 100 ? "mma(8,25) and mma(4,25)" : "mma(8,25)";
  unsupported(fmt::format("mma({},{}) is not what the tensor cores of sm_{} compute for tf32 inputs: they offer {}", block, fraction,
                          architecture, offers));
}

// A line of kernels.inc for each way to read A and B: the same name but for its last letters.
KernelId first_kernel(const DeviceProgram& p, bool double_inputs, bool large, bool tensor_f64, int architecture) {
  if (p.op == RunOp::mma) {
    if (tensor_instruction(architecture, p.block, p.fraction) == 8) return large ? sgemm_tf32_128x128x16_k8 : sgemm_tf32_64x64x16_k8;
    return large ? sgemm_tf32_128x128x16_k4 : sgemm_tf32_64x64x16_k4;
  }
  if (p.wide) return sgemm_wide_32x32x8_mixed_vv;
  if (double_inputs) {
    if (p.op == RunOp::fma && tensor_f64 && large) return dgemm_mma_64x64x16_vv;
    if (p.op == RunOp::fma) return large ? dgemm_simt_64x64x8_fma_vv : dgemm_simt_32x32x8_fma_vv;
    if (p.op == RunOp::mul) return large ? dgemm_simt_64x64x8_mul_vv : dgemm_simt_32x32x8_mul_vv;
    return dgemm_simt_32x32x8_mixed_vv;
  }
  if (p.op == RunOp::fma) return large ? sgemm_simt_128x128x16_fma_vv : sgemm_simt_32x32x16_fma_vv;
  if (p.op == RunOp::mul) return large ? sgemm_simt_128x128x16_mul_vv : sgemm_simt_32x32x16_mul_vv;
  return sgemm_simt_32x32x16_mixed_vv;
}

template <class V>
bool vectors(const Operand<V>& x) {
  constexpr Offset size = 16 / sizeof(V);
  return x.stride == 1 && x.stride_k % size == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

OutRounding out_rounding(Format out) {
  return out == Format::fp16 ? OutRounding::fp16 : out == Format::bf16 ? OutRounding::bf16 : OutRounding::none;
}

}  // namespace

template <class T>
LaunchPlan<T>::LaunchPlan(const Order& order, Index m, Index n, Index k, const DeviceLimits& device, const Choices& choices)
    : m_(m), n_(n), k_(k), device_(device) {
  constexpr Index most = std::numeric_limits<std::int32_t>::max() - 256;
  if (m < 0 || n < 0 || k < 0) invalid("negative size");
  if (m > most || n > most || k > most) invalid("sizes from 2^31 on are not supported");
  program_ = device_program(order, static_cast<std::size_t>(k), std::is_same_v<T, double>);
  epilogue_ = order.epilogue();
  out_ = out_rounding(order.out());

  const auto kernel_of = [&](bool large) {
    return first_kernel(program_, std::is_same_v<T, double>, large, choices.tensor_f64, device.architecture);
  };
  const auto tiles_of = [&](KernelId id) { return tiles(m, description(id).tile_m) * tiles(n, description(id).tile_n); };
  // Large tiles move less memory for each product; they must be enough to occupy half of the device.
  const bool large = choices.tile == Choices::Tile::large ||
                     (choices.tile == Choices::Tile::automatic && 2 * tiles_of(kernel_of(true)) >= device.multiprocessors);
  family_ = kernel_of(large);
  const auto& kernel = description(family_);

  // A fold over several blocks pays where one block a tile leaves most of the device idle.
  const bool several = choices.pieces == Choices::Pieces::several_blocks ||
                       (choices.pieces == Choices::Pieces::automatic && 2 * tiles_of(family_) < device.multiprocessors && k >= 256);
  if (program_.by_pieces) {  // few launches, but no more sums in the workspace than occupy the device
    const Index enough = std::max<Index>(1, 2 * device.multiprocessors / std::max<Index>(1, tiles_of(family_)));
    batch_ = std::min({program_.pieces.size(), most_pieces, static_cast<std::size_t>(choices.pieces == Choices::Pieces::one_block ? 1 : enough)});
  } else if (several && cut(program_, most_pieces)) {
    batch_ = program_.pieces.size();
  }
  const Index work = tiles_of(family_) * static_cast<Index>(batch_);
  if (work > std::numeric_limits<std::int32_t>::max()) invalid("C has too many tiles");

  shared_levels_ = program_.depth > 0 && kernel.pipeline_bytes + kernel.level_bytes <= device.shared_per_block ? 1 : 0;
  const std::size_t value = kernel.wide_value ? 8 : 4;
  std::size_t at = 0;
  const auto reserve = [&](std::size_t bytes) { return std::exchange(at, at + aligned(bytes)); };
  if (program_.packs()) {
    packed_a_ = reserve(static_cast<std::size_t>(m + 3) * program_.packed_k * value);
    packed_b_ = reserve(static_cast<std::size_t>(n + 3) * program_.packed_k * value);
  }
  stack_ = reserve((program_.depth - shared_levels_) * static_cast<std::size_t>(kernel.level_bytes) * resident_blocks(work));
  if (folds()) partial_ = reserve((batch_ + (program_.pieces.size() > batch_)) * static_cast<std::size_t>(m) * n * value);
  workspace_bytes_ = at;
}

template <class T>
int LaunchPlan<T>::resident_blocks(std::int64_t tiles) const {
  return static_cast<int>(std::min<std::int64_t>(tiles, static_cast<std::int64_t>(device_.multiprocessors) * description(family_).blocks));
}

template <class T>
std::string LaunchPlan<T>::kernel() const {
  return description(family_).name;
}

template <class T>
KernelId LaunchPlan<T>::kernel_for(Access a, Access b) const {
  const auto& wanted = description(family_);
  const auto table = kernel_table();
  KernelId best = family_;
  for (auto i = static_cast<std::size_t>(family_); i < table.size(); ++i) {
    const auto& k = table[i];
    if (k.family != wanted.family || k.tile_m != wanted.tile_m || k.op != wanted.op || k.wide_value != wanted.wide_value ||
        k.wide_output != wanted.wide_output || k.instruction_k != wanted.instruction_k)
      break;
    best = static_cast<KernelId>(i);  // the last one reads anything
    if ((k.access_a == Access::element || a == Access::vector) && (k.access_b == Access::element || b == Access::vector)) break;
  }
  return best;
}

template <class T>
template <class V>
void LaunchPlan<T>::launch(Executor& executor, const Tables& tables, Operand<V> a, Operand<V> b, Finish<T> finish, FoldArguments<V, T> fold,
                           char* workspace) const {
  Index m = m_, n = n_;
  Access access_a = vectors(a) ? Access::vector : Access::element, access_b = vectors(b) ? Access::vector : Access::element;
  // C^T = B^T A^T has the same products and sums: turn the problem so that vectors are on the side of B, or C is written by rows.
  if (access_a == access_b ? finish.c_row == 1 && finish.c_col != 1 : access_a == Access::vector) {
    std::swap(a, b);
    std::swap(access_a, access_b);
    std::swap(m, n);
    std::swap(finish.c_row, finish.c_col);
    std::swap(finish.bias_row, finish.bias_col);
  }
  constexpr Offset size = 16 / sizeof(T);
  finish.c_vector = finish.c_col == 1 && finish.c_row % size == 0 && reinterpret_cast<std::uintptr_t>(finish.c) % 16 == 0;

  const bool tensor = program_.op == RunOp::mma;
  const KernelId id = tensor ? family_ : kernel_for(access_a, access_b);
  const auto& kernel = description(id);
  GemmArguments<V, T> g{};
  g.m = static_cast<std::int32_t>(m);
  g.n = static_cast<std::int32_t>(n);
  g.k = program_.packed_k;
  g.a = a;
  g.b = b;
  g.runs = tables.runs;
  g.tiles_m = static_cast<std::int32_t>(cuda::tiles(m, kernel.tile_m));
  g.tiles_n = static_cast<std::int32_t>(cuda::tiles(n, kernel.tile_n));
  g.shared_levels = shared_levels_;
  g.stack = workspace + stack_;
  g.stack_levels = program_.depth - static_cast<std::uint32_t>(shared_levels_);
  g.seeded = program_.seeded;
  g.finish = fold.finish = finish;
  const auto multiply = [&](std::size_t first, std::size_t count) {
    g.pieces = tables.pieces + first;
    g.piece_count = static_cast<std::int32_t>(count);
    executor.launch(id, resident_blocks(static_cast<std::int64_t>(g.tiles_m) * g.tiles_n * g.piece_count),
                    static_cast<std::size_t>(kernel.pipeline_bytes) + static_cast<std::size_t>(shared_levels_) * kernel.level_bytes, &g);
  };
  if (!folds()) return multiply(0, 1);
  fold.m = g.m;
  fold.n = g.n;
  fold.partial = reinterpret_cast<V*>(workspace + partial_);
  constexpr KernelId fold_id = sizeof(T) == 8 ? fold_f64 : sizeof(V) == 8 ? fold_f64_to_f32 : fold_f32;
  for (std::size_t first = 0; first < program_.pieces.size(); first += batch_) {
    const std::size_t count = std::min(batch_, program_.pieces.size() - first);
    fold.started = first > 0;  // then the first matrix holds the sum
    fold.last = first + count == program_.pieces.size();
    fold.count = static_cast<std::int32_t>(count + fold.started);
    g.partial = fold.partial + (fold.started ? m * n : 0);
    multiply(first, count);
    executor.launch(fold_id, static_cast<int>(std::min<Index>(tiles(m * n, 256), device_.multiprocessors * 8)), 0, &fold);
  }
}

template <class T>
template <class V>
void LaunchPlan<T>::run_as(Executor& executor, const Tables& tables, T scale, MatrixView<const T> a, MatrixView<const T> b, Finish<T> finish,
                           const FoldArguments<V, T>& fold, char* workspace) const {
  const auto pack = [&](Index x, Operand<T> source, T factor, std::size_t place) -> Operand<V> {
    const bool by_row = program_.op == RunOp::mma;  // k contiguous
    const Index pitch = by_row ? program_.packed_k : (x + 3) / 4 * 4;
    PackArguments<T, V> p{};
    p.x = static_cast<std::int32_t>(x);
    p.padded_x = static_cast<std::int32_t>(by_row ? x : pitch);
    p.k = program_.packed_k;
    p.map = program_.map.empty() ? nullptr : tables.map;
    p.source = source;
    p.target = reinterpret_cast<V*>(workspace + place);
    p.target_x = by_row ? pitch : 1;
    p.target_k = by_row ? 1 : pitch;
    p.read_k_first = std::abs(source.stride_k) < std::abs(source.stride);
    p.write_k_first = by_row;
    p.format = program_.input;
    p.scale = factor;
    constexpr KernelId id = sizeof(T) == 8 ? pack_f64 : sizeof(V) == 8 ? pack_f32_to_f64 : pack_f32;
    const auto& kernel = description(id);
    const Index work = tiles(p.padded_x, 32) * tiles(p.k, 32);
    executor.launch(id, static_cast<int>(std::min<Index>(work, static_cast<Index>(device_.multiprocessors) * kernel.blocks)),
                    static_cast<std::size_t>(kernel.pipeline_bytes), &p);
    return {p.target, p.target_x, p.target_k};
  };
  const Operand<T> rows{a.data, a.row_stride, a.col_stride}, columns{b.data, b.col_stride, b.row_stride};
  if (program_.packs()) {
    const Operand<V> packed_a = pack(m_, rows, scale, packed_a_), packed_b = pack(n_, columns, T(1), packed_b_);
    launch<V>(executor, tables, packed_a, packed_b, finish, fold, workspace);
  } else {
    if constexpr (std::is_same_v<T, V>) launch<V>(executor, tables, rows, columns, finish, fold, workspace);
  }
}

template <class T>
void LaunchPlan<T>::run(Executor& executor, const Tables& tables, T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta,
                        MatrixView<T> c, Bias<T> bias, void* workspace, std::size_t workspace_bytes) const {
  if (c.rows != m_ || c.cols != n_ || (alpha != 0 && (a.rows != m_ || a.cols != k_ || b.rows != k_ || b.cols != n_)))
    invalid("shapes are not the plan's");
  if (m_ == 0 || n_ == 0) return;
  if (!c.data || (alpha != 0 && k_ > 0 && (!a.data || !b.data))) invalid("null data");
  if ((c.row_stride == 0 && m_ > 1) || (c.col_stride == 0 && n_ > 1)) invalid("elements of C coincide");
  const bool scaled = alpha != 0 && alpha != 1 && epilogue_.alpha != Epilogue::Alpha::a, has_c = beta != 0;
  if (has_c && scaled && (epilogue_.c == Epilogue::C::seed || (epilogue_.c == Epilogue::C::first && epilogue_.alpha == Epilogue::Alpha::end)))
    unsupported("epilogue(c=first|seed): the sum begins with C, so alpha must be applied before (alpha=a, or alpha=block for c=first)");
  if (alpha != 0 && k_ > 0 && has_c && epilogue_.c == Epilogue::C::seed && !program_.seeded)
    unsupported("epilogue(c=seed) has no kernel for an order whose first chain is not evaluated first");
  if (alpha != 0 && alpha != 1 && program_.scales_a && program_.op == RunOp::mma)
    unsupported("epilogue(alpha=a) before mma has no kernel for alpha other than 1: the scaled inputs are no longer tf32");
  if (workspace_bytes < workspace_bytes_ || (workspace_bytes_ > 0 && !workspace) || reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
    invalid(fmt::format("a workspace of {} bytes, aligned to 256, is needed", workspace_bytes_));

  Finish<T> finish{};
  finish.alpha = alpha == 0 || program_.scales_a ? T(1) : alpha;
  finish.beta = beta;
  // By pieces, a C that comes last is not part of the pieces' sum.
  finish.fused = epilogue_.fused && !(epilogue_.alpha == Epilogue::Alpha::block && epilogue_.c == Epilogue::C::last);
  finish.out = out_;
  finish.c = c.data;
  finish.c_row = c.row_stride;
  finish.c_col = c.col_stride;
  finish.bias = bias.data;
  finish.bias_col = bias.stride;
  if (epilogue_.c == Epilogue::C::seed) finish.seed_beta = std::exchange(finish.beta, T(0));
  if (alpha == 0 || k_ == 0) {
    FoldArguments<T, T> fold{};
    fold.m = static_cast<std::int32_t>(m_);
    fold.n = static_cast<std::int32_t>(n_);
    fold.finish = finish;
    fold.last = true;
    fold.alpha = T(1);
    fold.first_beta = finish.seed_beta;
    executor.launch(sizeof(T) == 8 ? fold_f64 : fold_f32, static_cast<int>(std::min<Index>(tiles(m_ * n_, 256), device_.multiprocessors * 8)), 0, &fold);
    return;
  }
  const auto run = [&]<class V>(V) {
    FoldArguments<V, T> fold{};
    fold.alpha = T(1);
    fold.fused = epilogue_.fused;
    if (program_.by_pieces) {
      if (epilogue_.alpha == Epilogue::Alpha::block) fold.alpha = std::exchange(finish.alpha, T(1));
      if (epilogue_.c == Epilogue::C::first) fold.first_beta = std::exchange(finish.beta, T(0));
    }
    run_as<V>(executor, tables, program_.scales_a ? alpha : T(1), a, b, finish, fold, static_cast<char*>(workspace));
  };
  if constexpr (std::is_same_v<T, float>)
    program_.wide ? run(double()) : run(float());
  else
    run(double());
}

template class LaunchPlan<float>;
template class LaunchPlan<double>;

}  // namespace samebits::cuda
