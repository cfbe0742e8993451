// SPDX-License-Identifier: Apache-2.0
// Scratch memory of a thread: grows to the largest request and is kept until the thread ends.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdlib>

#include "samebits/error.h"

namespace samebits::cpu {

class Workspace {
 public:
  static constexpr std::size_t alignment = 64;

  ~Workspace() { std::free(data_); }
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // `bytes` of uninitialised memory, valid until the next call. Throws Error(out_of_memory).
  std::byte* get(std::size_t bytes) {
    if (bytes > size_) grow(bytes);
    return data_;
  }

  static Workspace& of_this_thread() {
    static thread_local Workspace workspace;
    return workspace;
  }

 private:
  void grow(std::size_t bytes) {
    std::free(data_);
    size_ = 0;
    constexpr std::size_t small_page = 4096, huge_page = std::size_t{2} << 20;
    const std::size_t page = bytes < huge_page / 2 ? small_page : huge_page;
    bytes = (bytes + page - 1) / page * page;
    data_ = static_cast<std::byte*>(std::aligned_alloc(page, bytes));
    if (data_ == nullptr) throw Error(Code::out_of_memory, "no memory for packed operands");
#ifdef MADV_HUGEPAGE
    if (page == huge_page) madvise(data_, bytes, MADV_HUGEPAGE);  // panels are walked in many places at once
#endif
    size_ = bytes;
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Divides one piece of memory into aligned arrays: sizes first, then addresses.
class Layout {
 public:
  template <class T>
  std::size_t add(std::size_t count) {
    const std::size_t at = bytes_;
    std::size_t size = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &size) ||
        __builtin_add_overflow(bytes_, (size + Workspace::alignment - 1) / Workspace::alignment * Workspace::alignment,
                               &bytes_))
      throw Error(Code::out_of_memory, "operands too large to pack");
    return at;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace samebits::cpu
