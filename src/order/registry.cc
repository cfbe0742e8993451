// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "order/stage.h"

namespace samebits::order {

// One function for each stage_NAME.cc, listed by CMakeLists.txt.
#define SAMEBITS_STAGES(name) std::span<const StageWord> stages_##name();
#include "stages.inc"
#undef SAMEBITS_STAGES

std::span<const StageWord> stage_words() {
  static const std::vector<StageWord> words = [] {
    std::vector<StageWord> all;
#define SAMEBITS_STAGES(name) all.insert(all.end(), stages_##name().begin(), stages_##name().end());
#include "stages.inc"
#undef SAMEBITS_STAGES
    std::stable_sort(all.begin(), all.end(), [](const StageWord& x, const StageWord& y) { return x.rank < y.rank; });
    return all;
  }();
  return words;
}

const StageWord* find_stage(std::string_view name) {
  for (const StageWord& word : stage_words())
    if (word.name == name) return &word;
  return nullptr;
}

}  // namespace samebits::order
