// SPDX-License-Identifier: Apache-2.0
#include "backends/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include "samebits/error.h"

namespace samebits::adapters {

Library::Library(const std::vector<std::string>& names) {
  std::string reasons;
  for (const auto& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      path_ = name;
      link_map* map = nullptr;
      if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr && *map->l_name != '\0')
        path_ = map->l_name;
      return;
    }
    const char* reason = dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(reason != nullptr ? reason : name.c_str());
  }
  throw Error(Code::backend, "cannot load the library: " + reasons);
}

void* Library::address(const std::string& symbol) const {
  return dlsym(handle_, symbol.c_str());
}

void* Library::required(const std::string& symbol) const {
  if (void* found = address(symbol)) return found;
  throw Error(Code::backend, fmt::format("{} has no symbol {}", path_, symbol));
}

}  // namespace samebits::adapters
