// SPDX-License-Identifier: Apache-2.0
// Any bytes are an array or an Error(io); an array is written and read again without loss.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "io/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace samebits;
  io::Array array;
  try {
    array = io::parse_npy({data, size}, "fuzz", io::Stored::bf16);
  } catch (const Error& error) {
    if (error.code() != Code::io) std::abort();
    return 0;
  }
  const auto bytes = io::to_npy(array);
  if (io::to_npy(io::parse_npy(bytes, "again", io::Stored::bf16)) != bytes) std::abort();
  return 0;
}
