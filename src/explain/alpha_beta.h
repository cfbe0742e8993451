// SPDX-License-Identifier: Apache-2.0
// Where alpha, beta and C enter: three calls, compared with every epilogue of the order language.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/caller.h"
#include "explain/witness.h"

namespace samebits::explain {

struct AlphaBeta {
  std::string words;
  std::optional<Epilogue> epilogue;  // none where no call was reproduced
};

// `trees[label[i]]` is the tree of element i.
template <class T>
AlphaBeta alpha_beta(Caller<T>& caller, const Witness& witness, const std::vector<Tree>& trees,
                     const std::vector<std::uint32_t>& label, std::uint64_t seed);

extern template AlphaBeta alpha_beta(Caller<float>&, const Witness&, const std::vector<Tree>&,
                                     const std::vector<std::uint32_t>&, std::uint64_t);
extern template AlphaBeta alpha_beta(Caller<double>&, const Witness&, const std::vector<Tree>&,
                                     const std::vector<std::uint32_t>&, std::uint64_t);

}  // namespace samebits::explain
