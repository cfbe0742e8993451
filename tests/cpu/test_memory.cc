// SPDX-License-Identifier: Apache-2.0
// Operands that end, or begin, at a page that cannot be touched: no kernel and no packing reads or writes past them.
#include <sys/mman.h>
#include <unistd.h>

#include "cpu/blocking.h"
#include "cpu/problem.h"

namespace samebits::test {
namespace {

// n values between two forbidden pages, against the end or the beginning.
template <class T>
class Guarded {
 public:
  Guarded(Index n, bool at_end) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes = n * sizeof(T);
    size_ = (bytes + page - 1) / page * page + 2 * page;
    map_ = static_cast<char*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (map_ == MAP_FAILED || mprotect(map_ + page, size_ - 2 * page, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<T*>(at_end ? map_ + size_ - page - bytes : map_ + page);
  }
  ~Guarded() { munmap(map_, size_); }
  Guarded(const Guarded&) = delete;
  T* data() const { return data_; }

 private:
  std::size_t size_ = 0;
  char* map_ = nullptr;
  T* data_ = nullptr;
};

template <class T>
void run(Index m, Index n, Index k, const std::string& order, const Context& context, bool at_end, bool columns) {
  const Guarded<T> a(m * k, at_end), b(k * n, at_end), c(m * n, at_end);
  Random random(static_cast<std::uint64_t>(m + n + k));
  for (Index i = 0; i < m * k; ++i) a.data()[i] = random.value<T>(Values::normal);
  for (Index i = 0; i < k * n; ++i) b.data()[i] = random.value<T>(Values::normal);
  const auto view = [&](T* p, Index rows, Index cols) {
    return columns ? col_major(p, rows, cols) : row_major(p, rows, cols);
  };
  std::vector<T> expected(m * n);
  reference::gemm<T>(1, view(a.data(), m, k), view(b.data(), k, n), 0, view(expected.data(), m, n), Order::parse(order));
  gemm(T(1), view(a.data(), m, k), view(b.data(), k, n), T(0), view(c.data(), m, n), Order::parse(order), context);
  EXPECT_EQ(differences(view(c.data(), m, n), view(expected.data(), m, n)), "") << m << " " << n << " " << k << " " << order;
}

TEST(Memory, GuardPages) {
  cpu::Blocking packed = cpu::blocking(), in_place = packed, streamed = packed;
  packed.in_place_work = packed.skinny = 0;
  in_place.in_place_work = Index{1} << 40;
  streamed.stream_bytes = 0;
  for (const std::string& isa : usable_isas())
    for (const cpu::Blocking* sizes : {&packed, &in_place, &streamed}) {
      cpu::override_blocking(sizes);
      for (const char* order : {"fma", "mul", "pairwise(5) > fma", "tree(2 + 0 + (1 + 3)) > fma"})
        for (const auto& [m, n, k] : {std::array<Index, 3>{1, 1, 1},
                                      {6, 7, 5},
                                      {17, 33, 31},
                                      {15, 16, 17},
                                      {29, 5, 50},
                                      {3, 100, 18},
                                      {1, 70, 45},
                                      {70, 1, 45}}) {
          const Index depth = order[0] == 't' ? 4 : k;
          for (const bool at_end : {false, true})
            for (const bool columns : {false, true}) {
              run<float>(m, n, depth, order, {.isa = isa}, at_end, columns);
              run<double>(m, n, depth, order, {.isa = isa}, at_end, columns);
            }
        }
      cpu::override_blocking(nullptr);
    }
}

TEST(Memory, NothingIsReadWithoutNeed) {
  std::vector<float> c(4, 3.0f);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a(4, nan);
  // alpha = 0: A and B are not read; beta = 0: C is not.
  gemm(0.0f, row_major(a.data(), 2, 2), row_major(a.data(), 2, 2), 1.0f, row_major(c.data(), 2, 2));
  EXPECT_EQ(c, std::vector<float>(4, 3.0f));
  c.assign(4, nan);
  gemm(0.0f, row_major(a.data(), 2, 2), row_major(a.data(), 2, 2), 0.0f, row_major(c.data(), 2, 2));
  EXPECT_EQ(c, std::vector<float>(4, 0.0f));
}

TEST(Memory, Batches) {
  const Index m = 9, n = 20, k = 13, count = 5;
  Random random(3);
  std::vector<float> a(m * k), b(count * k * n), c(count * m * n, canary<float>), expected(m * n);
  for (float& x : a) x = random.value<float>(Values::normal);
  for (float& x : b) x = random.value<float>(Values::normal);
  const Order order = Order::parse("chunks(5) > fma");
  gemm_batch(1.0f, row_major<const float>(a.data(), m, k), 0, row_major<const float>(b.data(), k, n), k * n, 0.0f,
             row_major(c.data(), m, n), m * n, count, order, {.threads = 2});
  for (Index i = 0; i < count; ++i) {
    reference::gemm<float>(1, row_major<const float>(a.data(), m, k), row_major<const float>(b.data() + i * k * n, k, n), 0,
                           row_major(expected.data(), m, n), order);
    EXPECT_EQ(differences(row_major(c.data() + i * m * n, m, n), row_major(expected.data(), m, n)), "");
  }
}

}  // namespace
}  // namespace samebits::test
