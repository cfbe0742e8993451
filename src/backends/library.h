// SPDX-License-Identifier: Apache-2.0
// A shared library opened at run time. It stays loaded until the program ends: BLAS libraries keep threads.
#pragma once

#include <string>
#include <vector>

namespace samebits::adapters {

class Library {
 public:
  // Opens the first of `names` that the loader finds; throws Error(backend) with the loader's words for each.
  explicit Library(const std::vector<std::string>& names);

  // Null where the symbol is missing. Dependencies of the library are searched too.
  template <class F>
  F* find(const std::string& symbol) const {
    return reinterpret_cast<F*>(address(symbol));
  }
  // Throws Error(backend) that names the library and the symbol.
  template <class F>
  F* require(const std::string& symbol) const {
    return reinterpret_cast<F*>(required(symbol));
  }
  // File that was loaded.
  const std::string& path() const { return path_; }

 private:
  void* address(const std::string& symbol) const;
  void* required(const std::string& symbol) const;

  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace samebits::adapters
