// SPDX-License-Identifier: Apache-2.0
// Threads that run the parts of a job.
#pragma once

namespace samebits::cpu {

// Calls part(context, i) for i = 0 .. parts-1, on this thread and up to parts-1 others, and returns when all are done. The
// first exception is thrown again here. Where another thread is using the pool, this thread runs all parts itself. May be
// called after fork, from any thread, also from a part.
void run_parts(int parts, void (*part)(void* context, int i), void* context);

template <class F>
void parallel(int parts, F&& f) {
  if (parts == 1) return f(0);
  run_parts(
      parts, [](void* context, int i) { (*static_cast<F*>(context))(i); }, &f);
}

}  // namespace samebits::cpu
