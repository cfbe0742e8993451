// SPDX-License-Identifier: Apache-2.0
#include "explain/alpha_beta.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "explain/compare.h"

namespace samebits::explain {
namespace {

// One call with its results, and what they are compared with.
template <class T>
struct Test {
  T alpha, beta;
  const Inputs<T>& inputs;
  const std::vector<T>& old;  // C before the call
  const Caller<T>& caller;
  Format out;
  const std::vector<Tree>& trees;
  const std::vector<std::uint32_t>& label;

  bool fits(const Epilogue& candidate) const {
    const std::size_t stride = std::max<std::size_t>(1, old.size() / 500);
    try {
      for (std::size_t i = 0; i < old.size(); i += stride) {
        reference::Scale<T> scale;
        scale.alpha = alpha, scale.beta = beta, scale.c = old[i];
        if (!same_bits(reference::evaluate(trees[label[i]], candidate, out, inputs.a(i), inputs.b(i), scale),
                       caller.result_at(i)))
          return false;
      }
    } catch (const Error&) {  // this order has no such epilogue
      return false;
    }
    return true;
  }

  // fma(beta, C, alpha*AB)?
  bool beta_fused() const {
    for (std::size_t i = 0; i < old.size(); ++i)
      if (!same_bits(std::fma(beta, old[i], alpha * reference::evaluate(trees[label[i]], inputs.a(i), inputs.b(i))),
                     caller.result_at(i)))
        return false;
    return true;
  }
};

std::string words_of(const Epilogue& x, bool alpha, bool c) {
  static constexpr std::array alphas{"at the end", "on each piece", "on A"};
  static constexpr std::array cs{"added last", "first", "the start of the first chain"};
  std::string out;
  if (alpha) out += fmt::format("alpha {}", alphas[static_cast<std::size_t>(x.alpha)]);
  if (c) out += fmt::format("{}C {}", out.empty() ? "" : ", ", cs[static_cast<std::size_t>(x.c)]);
  return out + (x.fused && !out.empty() ? ", fused" : "");
}

}  // namespace

template <class T>
AlphaBeta alpha_beta(Caller<T>& caller, const Witness& witness, const std::vector<Tree>& trees,
                     const std::vector<std::uint32_t>& label, std::uint64_t seed) {
  caller.stage("alpha and beta");
  const auto& p = caller.call();
  std::vector<Epilogue> left;
  for (const auto alpha : {Epilogue::Alpha::end, Epilogue::Alpha::block, Epilogue::Alpha::a})
    for (const auto c : {Epilogue::C::last, Epilogue::C::first, Epilogue::C::seed})
      for (const bool fused : {false, true}) left.push_back({alpha, c, fused});
  caller.fill_random(seed);
  const Inputs<T> inputs(caller, witness.input);

  struct Scalars {
    T alpha, beta;
    const char* words;
  };
  constexpr std::array<Scalars, 3> calls{
      {{T(1.7), T(0), "alpha"}, {T(1), T(1), "C added (beta = 1, a bias)"}, {T(1.7), T(-0.6), "alpha and beta"}}};
  std::array<bool, 3> matched{};
  bool beta_is_fused = false;
  for (std::size_t at = 0; at < calls.size(); ++at) {
    std::mt19937_64 engine(seed + 1);
    std::normal_distribution<double> normal;
    std::vector<T> old;
    for (Index i = 0; i < p.m; ++i)
      for (Index j = 0; j < p.n; ++j) old.push_back(caller.c(i, j) = static_cast<T>(normal(engine)));
    const auto [alpha, beta, words] = calls[at];
    try {
      caller.run(alpha, beta);
    } catch (const Error& error) {
      if (error.code() != Code::unsupported) throw;
      return {fmt::format("alpha and beta: {}", error.what()), {}};
    }
    const Test<T> test{alpha, beta, inputs, old, caller, witness.out, trees, label};
    std::vector<Epilogue> fit;
    std::copy_if(left.begin(), left.end(), std::back_inserter(fit),
                 [&](const Epilogue& candidate) { return test.fits(candidate); });
    matched[at] = !fit.empty();
    if (matched[at])
      left = std::move(fit);
    else if (at == 2 && matched[0] && matched[1])
      matched[at] = beta_is_fused = test.beta_fused();
  }
  // Nothing is said about what was not reproduced.
  AlphaBeta out{words_of(left.front(), matched[0], matched[1]), {}};
  if (matched[0] || matched[1] || matched[2]) out.epilogue = left.front();
  if (beta_is_fused) out.words += "; beta*C is added by one fma, which the order language does not write";
  for (std::size_t at = 0; at < calls.size(); ++at)
    if (!matched[at])
      out.words += fmt::format("{}{}: not reproduced, another order or epilogue runs then", out.words.empty() ? "" : "; ",
                               calls[at].words);
  return out;
}

template AlphaBeta alpha_beta(Caller<float>&, const Witness&, const std::vector<Tree>&, const std::vector<std::uint32_t>&,
                              std::uint64_t);
template AlphaBeta alpha_beta(Caller<double>&, const Witness&, const std::vector<Tree>&, const std::vector<std::uint32_t>&,
                              std::uint64_t);

}  // namespace samebits::explain
