// SPDX-License-Identifier: Apache-2.0
// The determinism suite for any backend: which promises about its bits does it keep? docs/determinism-suite.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "samebits/backend.h"

namespace [[gnu::visibility("default")]] samebits {

struct ClauseInfo {
  std::string id;    // "m-batch"
  std::string text;  // the promise in one sentence
};
// In the order in which they are run and printed.
std::vector<ClauseInfo> clauses();

struct CheckOptions {
  std::vector<DType> dtypes{DType::f32, DType::f64};  // those that the backend supports are used
  std::vector<int> threads{1, 2, 3};                  // counts to compare; the first is used elsewhere
  std::string other;           // a second backend whose bits must be the same, for the clause "same-as"; empty: not applicable
  bool quick = false;          // few and small shapes: for programs, where each call costs a process
  std::vector<std::string> only;    // clauses to run; empty: all
  std::vector<std::string> except;  // clauses that are not promised
  std::uint64_t seed = 1;
  std::function<void(const std::string& clause)> progress;
};

struct ClauseResult {
  enum class Verdict { holds, fails, not_applicable };
  std::string id, text;
  Verdict verdict = Verdict::holds;
  std::string detail;       // why it fails (the smallest counterexample found) or does not apply
  std::string left, right;  // the order of the element that differs on each side, where that could be found
  double seconds = 0;
};

struct CheckReport {
  std::string backend, description;
  std::vector<ClauseResult> results;
  bool ok() const;           // no clause fails
  std::string text() const;  // a table
  std::string junit() const; // XML for CI systems
};

// Errors of the backend inside a clause make that clause fail; Error(invalid_argument) for an unknown clause.
CheckReport check(Backend& backend, const CheckOptions& options = {});

}  // namespace samebits
