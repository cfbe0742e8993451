// SPDX-License-Identifier: Apache-2.0
#include "profiles/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

// What the call itself says about a key, empty if nothing.
std::string from_call(const std::string& key, const Call& call) {
  if (key == "threads") return std::to_string(call.threads);
  if (key == "b") return call.constant_b ? "const" : "input";
  if (key == "offset") return std::to_string(call.a_offset % 16);
  if (key == "b-offset") return std::to_string(call.b_offset % 16);
  if (key == "c-offset") return std::to_string(call.c_offset % 16);
  return {};
}

}  // namespace

std::span<const Profile> all() {
  static const std::vector<Profile> profiles{
      onnxruntime_cpu(), numpy(),          pytorch_cpu(), openblas(),         mkl(),         onednn(), eigen(), blis(),
      jax_cpu(),         tensorflow_cpu(), cublas(),      onnxruntime_cuda(), pytorch_cuda()};
  return profiles;
}

const Profile* find(std::string_view name) {
  for (const Profile& profile : all())
    if (profile.name == name) return &profile;
  return nullptr;
}

std::optional<Order> resolve(const Order& reference, const Call& call) {
  const Profile* profile = find(reference.profile_name());
  if (!profile) {
    std::vector<std::string> names;
    for (const Profile& known : all()) names.push_back(known.name);
    throw Error(Code::syntax,
                fmt::format("there is no profile '{}': expected {}", reference.profile_name(), fmt::join(names, ", ")), 1);
  }
  Keys keys;
  for (const Key& key : profile->keys) {
    const std::string said = from_call(key.name, call);
    keys[key.name] = said.empty() ? key.values.front() : said;
  }
  for (const auto& [name, value] : reference.profile_keys()) {
    if (!keys.contains(name)) {
      std::vector<std::string> names;
      for (const Key& key : profile->keys) names.push_back(key.name);
      throw Error(Code::syntax, names.empty() ? fmt::format("{} has no keys, '{}' was given", profile->name, name)
                                              : fmt::format("{} has no key '{}': expected {}", profile->name, name,
                                                            fmt::join(names, ", ")));
    }
    keys[name] = value;
  }
  return profile->order(call, keys);
}

}  // namespace samebits::profiles
