// SPDX-License-Identifier: Apache-2.0
// The answer of explain, for people and for programs.
#pragma once

#include <string>

#include "samebits/explain.h"

namespace samebits::report {

// Some lines of text; `color` adds ANSI colours.
std::string text(const explain::Report& report, bool color);

// One JSON object, schema "samebits.explain/1".
std::string json(const explain::Report& report);
// The trace alone, as in the report.
std::string json(const explain::TraceReport& trace);

}  // namespace samebits::report
