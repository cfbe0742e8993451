// SPDX-License-Identifier: Apache-2.0
// The options that name one call of a backend, for the verbs that probe.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/options.h"
#include "samebits/probe.h"

namespace samebits::cli {

struct CallOptions {
  ProbeCall call;
  std::string dtype = "f32";

  static std::shared_ptr<CallOptions> add(CLI::App& app) {
    auto o = std::make_shared<CallOptions>();
    auto& c = o->call;
    app.add_option("-m", c.m, "rows of C")->required()->check(at_least(1));
    app.add_option("-n", c.n, "columns of C")->required()->check(at_least(1));
    app.add_option("-k", c.k, "length of the sums")->required()->check(at_least(1));
    app.add_option("--dtype", o->dtype, "f32 or f64")->check(CLI::IsMember({"f32", "f64"}))->capture_default_str();
    app.add_flag("--ta", c.trans_a, "A is stored k x m");
    app.add_flag("--tb", c.trans_b, "B is stored n x k (a linear layer's weight)");
    app.add_option("--threads", c.threads, "threads of the backend")->check(at_least(1))->capture_default_str();
    app.add_flag("--constant-b", c.constant_b, "B is a constant that may be packed ahead");
    app.add_option_function<unsigned>("--alignment", [&c](unsigned x) { c.a_offset = c.b_offset = c.c_offset = x; },
                                      "addresses of A, B and C, in bytes past a multiple of 64")
        ->check(CLI::Range(0u, 63u));
    app.add_option("--a-offset", c.a_offset, "of A alone")->check(CLI::Range(0u, 63u));
    app.add_option("--b-offset", c.b_offset, "of B alone")->check(CLI::Range(0u, 63u));
    app.add_option("--c-offset", c.c_offset, "of C alone")->check(CLI::Range(0u, 63u));
    app.add_option_function<Index>("--gap", [&c](Index x) { c.a_gap = c.b_gap = c.c_gap = x; },
                                   "elements between the end of a stored row and the next")
        ->check(at_least(0));
    return o;
  }

  ProbeCall finished() const {
    auto out = call;
    out.dtype = dtype == "f64" ? DType::f64 : DType::f32;
    return out;
  }
};

}  // namespace samebits::cli
