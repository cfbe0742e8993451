// SPDX-License-Identifier: Apache-2.0
// Order text, seeded by the lines of tests/data/orders.txt: `split -l1 tests/data/orders.txt seeds/; fuzz_order
// -max_total_time=300 seeds`.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "order/check_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = samebits::order::check_text({reinterpret_cast<const char*>(data), size});
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
