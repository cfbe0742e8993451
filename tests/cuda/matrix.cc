// SPDX-License-Identifier: Apache-2.0
// cuda_matrix_SANITIZER kernels|BUG late|early: the kernels, or one seeded bug, in a build with a sanitizer. Exit status 0:
// right results and no report.
#include <cstdio>
#include <cstring>
#include <numeric>

#include "seeded_bugs.cuh"
#include "simulated.h"

using namespace samebits;
using namespace samebits::cuda;

static int run_kernels(bool late) {
  int failures = 0;
  const auto check = [&](auto p) {
    p.simulator.late_copies = late;
    std::string kernels;
    const std::string text = check_problem(p, &kernels);
    std::printf("%s: %s%s\n", p.text().c_str(), kernels.c_str(), text.c_str());
    failures += !text.empty();
  };
  using Tile = Choices::Tile;
  for (const char* order : {"fma", "chunks(8) > mul", "lanes(4, fold=halves) > fma", "split(2) > fma"})
    for (Tile tile : {Tile::large, Tile::small}) {
      check(Problem<float>{.order = order, .m = 37, .n = 41, .k = 35, .beta = 0.5f, .bias = true, .choices = {.tile = tile}});
      check(Problem<float>{.order = order, .m = 37, .n = 41, .k = 35, .a = Layout::padded_column, .b = Layout::column, .choices = {.tile = tile}});
      check(Problem<double>{.order = order, .m = 37, .n = 41, .k = 35, .choices = {.tile = tile}});
    }
  for (Tile tile : {Tile::large, Tile::small}) check(Problem<float>{.order = "tf32(rna) > chunks(20) > mma(4,24)", .m = 37, .n = 41, .k = 35, .choices = {.tile = tile}});
  check(Problem<float>{.order = "split(3) > fma", .m = 7, .n = 9, .k = 300, .choices = {.pieces = Choices::Pieces::several_blocks}});
  check(Problem<float>{.order = "f64 > fma", .m = 37, .n = 41, .k = 35});
  return failures;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool late = std::strcmp(argv[2], "late") == 0;
  if (std::strcmp(argv[1], "kernels") == 0) return run_kernels(late) != 0;
  using sim::Bug;
  const std::pair<const char*, Bug> bugs[] = {{"none", Bug::none}, {"missing_barrier", Bug::missing_barrier}, {"store_past_end", Bug::store_past_end},
                                              {"wait_too_weak", Bug::wait_too_weak}, {"overwritten_too_early", Bug::overwritten_too_early}};
  for (auto [name, bug] : bugs)
    if (std::strcmp(argv[1], name) == 0) {
      constexpr int steps = 6;
      std::vector<float> in(steps * sim::bug_threads), out(sim::bug_threads);
      std::iota(in.begin(), in.end(), 1.0f);
      try {
        sim::launch(sim::reversed_sums, sim::BugArguments{in.data(), out.data(), steps, bug}, 1, sim::bug_threads, sim::bug_shared_bytes, {.late_copies = late});
      } catch (const Error& e) {
        std::printf("%s\n", e.what());
        return 1;
      }
      std::printf("ran to its end\n");
      return 0;
    }
  return 2;
}
