// SPDX-License-Identifier: Apache-2.0
// Small kernels, right and with one bug each, on which the simulator itself is tested.
#pragma once

#include "cuda/device.cuh"

namespace samebits::cuda::sim {

enum class Bug { none, missing_barrier, index_off_by_one, store_past_end, wait_too_weak, overwritten_too_early, divergent_barrier, thread_left,
                 divergent_warp, misaligned_load };

struct BugArguments {
  const float* in;  // steps x 64
  float* out;       // 64
  int steps;
  Bug bug;
};

inline constexpr int bug_threads = 64;
inline constexpr int bug_shared_bytes = 2 * bug_threads * sizeof(float);

// out[t] = sum over the steps of in[step][63 - t]: stages of a row pass through shared memory in two buffers.
inline void reversed_sums(BugArguments g) {
  const int t = thread_index();
  auto* shared = reinterpret_cast<float*>(shared_memory());
  const auto fetch = [&](int step) {
    if (step < g.steps) copy_async<4>(shared + step % 2 * bug_threads + t, g.in + step * bug_threads + t, 4);
    copy_commit();
  };
  fetch(0);
  float sum = 0;
  for (int step = 0; step < g.steps; ++step) {
    if (g.bug == Bug::overwritten_too_early) fetch(step + 1);  // others may still read that buffer
    if (g.bug == Bug::wait_too_weak) {
      copy_wait<1>();
    } else {
      copy_wait<0>();
    }
    if (g.bug == Bug::divergent_barrier && t >= 32) {
      sync_threads();
    } else if (g.bug != Bug::missing_barrier) {
      if (g.bug == Bug::thread_left && t == 7) return;
      sync_threads();
    }
    if (g.bug != Bug::overwritten_too_early) fetch(step + 1);
    int from = bug_threads - 1 - t;
    if (g.bug == Bug::index_off_by_one) from = 2 * bug_threads - t;
    sum = add_rn(sum, load(shared + step % 2 * bug_threads + from));
  }
  if (g.bug == Bug::store_past_end && t == 0) shared[2 * bug_threads] = sum;
  if (g.bug == Bug::misaligned_load) sum = load(reinterpret_cast<const Vector<float>*>(shared + t)).v[0];
  if (g.bug == Bug::divergent_warp) {
    if (t % 2) {
      sum = shuffle_xor(sum, 1);
    } else {
      sum = shuffle_xor(sum, 1);
    }
  }
  g.out[t] = sum;
}

}  // namespace samebits::cuda::sim
