// SPDX-License-Identifier: Apache-2.0
// The orders of a backend at a list of calls, to keep and to compare: did an upgrade change them?
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "samebits/probe.h"

namespace samebits::explain {

struct Fingerprint {
  struct Entry {
    ProbeCall call;
    std::string status;      // "reproduced", ...
    std::string order;       // text, with regions
    std::uint64_t bits = 0;  // hash of the result on fixed data, whatever the order
  };
  std::string backend, description;
  std::vector<Entry> entries;
};

// A call as text, and back: "f32 64 x 64 x 500, tb, threads=2". Error(syntax) names the line's fault.
std::string text(const ProbeCall& call);
ProbeCall parse_call(const std::string& text);

// Squares, skinny ones, one row, one column, long K; one and two threads; both types.
std::vector<ProbeCall> default_calls();

Fingerprint fingerprint(Backend& backend, const std::vector<ProbeCall>& calls,
                        const std::function<void(const std::string&)>& progress = {});

// What changed, a line each, in plain words; empty: nothing. Calls that only one side has are named as well.
std::vector<std::string> differences(const Fingerprint& before, const Fingerprint& after);

}  // namespace samebits::explain
