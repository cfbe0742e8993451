// SPDX-License-Identifier: Apache-2.0
#include "explain/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "explain/caller.h"

namespace samebits::explain {
namespace {

template <class T>
std::uint64_t bits_of(Backend& backend, const ProbeCall& call) {
  Caller<T> x(backend, call);
  x.fill_random(42);
  x.run();
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const T value : x.result()) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    for (const auto b : bytes) hash = (hash ^ b) * 0x100000001b3u;
  }
  return hash;
}

const char* word(ProbeResult::Status s) {
  static constexpr const char* words[] = {"reproduced", "partly reproduced", "not reproduced", "not deterministic"};
  return words[static_cast<int>(s)];
}

std::string shortened(const std::string& order) {
  return order.size() <= 200 ? order : order.substr(0, 200) + "...";
}

// The same order in other words is not a change.
bool same_order(const Fingerprint::Entry& x, const Fingerprint::Entry& y) {
  if (x.order == y.order) return true;
  if (x.order.empty() || y.order.empty()) return false;
  try {
    const auto a = Order::parse(x.order), b = Order::parse(y.order);
    const auto k = static_cast<std::size_t>(x.call.k);
    for (Index i = 0; i < x.call.m; ++i)
      for (Index j = 0; j < x.call.n; ++j) {
        const auto p = a.at(i, j), q = b.at(i, j);
        if (p.text() != q.text() && !equivalent(p, q, k)) return false;
        if (!a.has_regions() && !b.has_regions()) return true;
      }
    return true;
  } catch (const Error&) {  // written by another version
    return false;
  }
}

}  // namespace

std::string text(const ProbeCall& c) {
  auto out = fmt::format("{} {} x {} x {}", c.dtype == DType::f32 ? "f32" : "f64", c.m, c.n, c.k);
  if (c.trans_a) out += ", ta";
  if (c.trans_b) out += ", tb";
  if (c.constant_b) out += ", constant-b";
  if (c.threads != 1) out += fmt::format(", threads={}", c.threads);
  for (const auto& [name, value] : {std::pair{"a-offset", c.a_offset}, {"b-offset", c.b_offset}, {"c-offset", c.c_offset}})
    if (value != 0) out += fmt::format(", {}={}", name, value);
  return out;
}

ProbeCall parse_call(const std::string& line) {
  const auto fail = [&](const std::string& why) { throw Error(Code::syntax, fmt::format("call \"{}\": {}", line, why)); };
  ProbeCall c;
  std::stringstream parts(line);
  std::string part;
  std::getline(parts, part, ',');
  char type[4] = {};
  long m = 0, n = 0, k = 0;
  int end = 0;
  if (std::sscanf(part.c_str(), " %3s %ld x %ld x %ld %n", type, &m, &n, &k, &end) != 4 ||
      end != static_cast<int>(part.size()))
    fail("expected \"f32 M x N x K\"");
  if (std::strcmp(type, "f32") != 0 && std::strcmp(type, "f64") != 0) fail("the type must be f32 or f64");
  if (m < 1 || n < 1 || k < 1) fail("m, n and k must be at least 1");
  c.dtype = std::strcmp(type, "f64") == 0 ? DType::f64 : DType::f32;
  c.m = m, c.n = n, c.k = k;
  while (std::getline(parts, part, ',')) {
    const auto first = part.find_first_not_of(' ');
    part = first == std::string::npos ? "" : part.substr(first, part.find_last_not_of(' ') - first + 1);
    const auto equals = part.find('=');
    const auto key = part.substr(0, equals);
    const auto number = [&]() -> long {
      char* stop = nullptr;
      const auto word = equals == std::string::npos ? std::string() : part.substr(equals + 1);
      const long value = std::strtol(word.c_str(), &stop, 10);
      if (word.empty() || *stop != '\0' || value < 0 || value > 1024) fail(fmt::format("{} needs a number", key));
      return value;
    };
    if (part == "ta")
      c.trans_a = true;
    else if (part == "tb")
      c.trans_b = true;
    else if (part == "constant-b")
      c.constant_b = true;
    else if (key == "threads")
      c.threads = std::max(1, static_cast<int>(number()));
    else if (key == "a-offset")
      c.a_offset = static_cast<unsigned>(number());
    else if (key == "b-offset")
      c.b_offset = static_cast<unsigned>(number());
    else if (key == "c-offset")
      c.c_offset = static_cast<unsigned>(number());
    else
      fail(
          fmt::format("unknown word \"{}\"; there are ta, tb, constant-b, threads=, a-offset=, b-offset=, c-offset=", part));
  }
  return c;
}

std::vector<ProbeCall> default_calls() {
  std::vector<ProbeCall> calls;
  for (const char* line :
       {"f32 6 x 7 x 5, tb", "f32 6 x 7 x 37, tb", "f32 16 x 16 x 64", "f32 64 x 64 x 500", "f32 64 x 64 x 500, threads=2",
        "f32 100 x 100 x 1000", "f32 1 x 64 x 300", "f32 1 x 64 x 300, tb", "f32 64 x 1 x 300", "f32 8 x 33 x 1000",
        "f64 6 x 7 x 37", "f64 64 x 64 x 500", "f64 64 x 64 x 500, threads=2", "f64 1 x 64 x 300"})
    calls.push_back(parse_call(line));
  return calls;
}

Fingerprint fingerprint(Backend& backend, const std::vector<ProbeCall>& calls,
                        const std::function<void(const std::string&)>& progress) {
  Fingerprint out{backend.name(), backend.description(), {}};
  for (const auto& call : calls) {
    if (!backend.supports(call.dtype)) continue;
    if (progress) progress(text(call));
    ProbeOptions options;
    options.epilogue = false;
    const auto r = probe(backend, call, options);
    Fingerprint::Entry entry{call, word(r.status), r.regions.empty() ? "" : r.order.text(), 0};
    entry.bits = call.dtype == DType::f32 ? bits_of<float>(backend, call) : bits_of<double>(backend, call);
    out.entries.push_back(std::move(entry));
  }
  return out;
}

std::vector<std::string> differences(const Fingerprint& before, const Fingerprint& after) {
  std::vector<std::string> out;
  for (const auto& x : before.entries) {
    const auto name = text(x.call);
    const auto it =
        std::find_if(after.entries.begin(), after.entries.end(), [&](const auto& y) { return text(y.call) == name; });
    if (it == after.entries.end()) {
      out.push_back(fmt::format("{}: only in the first fingerprint", name));
      continue;
    }
    const auto& y = *it;
    if (x.status != y.status)
      out.push_back(fmt::format("{}: the order was {}, now it is {}", name, x.status, y.status));
    else if (!same_order(x, y))
      out.push_back(
          fmt::format("{}: the order changed\n    from {}\n    to   {}", name, shortened(x.order), shortened(y.order)));
    else if (x.bits != y.bits)
      out.push_back(fmt::format("{}: the order is the same, the bits of a fixed product changed", name));
  }
  for (const auto& y : after.entries)
    if (std::none_of(before.entries.begin(), before.entries.end(),
                     [&](const auto& x) { return text(x.call) == text(y.call); }))
      out.push_back(fmt::format("{}: only in the second fingerprint", text(y.call)));
  return out;
}

}  // namespace samebits::explain
