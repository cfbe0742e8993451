// SPDX-License-Identifier: Apache-2.0
#include "capi/blas.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiles/profile.h"
#include "samebits/cblas.h"
#include "samebits/error.h"
#include "samebits/gemm.h"

namespace samebits::blas {
namespace {

thread_local std::optional<Order> thread_order;

const Order& current_order() {
  if (thread_order) return *thread_order;
  static const std::string text = [] {
    const char* variable = std::getenv("SAMEBITS_ORDER");
    return std::string(variable ? variable : "");
  }();
  try {
    static const Order order = text.empty() ? Order() : Order::parse(text);
    return order;
  } catch (const Error& e) {
    throw Error(e.code(), "SAMEBITS_ORDER, column " + std::to_string(e.column()) + ": " + e.what());
  }
}

void report(const char* name, const char* message) { std::fprintf(stderr, "samebits: %s: %s\n", name, message); }

// What BLAS calls an illegal value: nothing has been touched, nothing will be.
struct BadArgument {
  const char* what;
};
void require(bool condition, const char* what) {
  if (!condition) throw BadArgument{what};
}

template <class T>
void fill_nan(MatrixView<T> c) {
  for (Index i = 0; i < c.rows; ++i)
    for (Index j = 0; j < c.cols; ++j) c(i, j) = std::numeric_limits<T>::quiet_NaN();
}

template <class T>
MatrixView<T> view(Layout layout, Trans trans, T* data, Index rows, Index cols, Index ld) {
  const bool along_rows = (layout == Layout::rows) != (trans == Trans::yes);
  return along_rows ? row_major(data, rows, cols, ld) : col_major(data, rows, cols, ld);
}

template <class T>
MatrixView<T> part(MatrixView<T> x, Index i, Index j, Index rows, Index cols) {
  return {x.data + i * x.row_stride + j * x.col_stride, rows, cols, x.row_stride, x.col_stride};
}

// A profile tells what a library does with a row-major call; a column-major one is the row-major call for the transposes.
template <class T>
void product(Layout layout, T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c) {
  const Order& order = current_order();
  if (!order.is_profile()) return samebits::gemm(alpha, a, b, beta, c, order);
  if (layout == Layout::columns) {
    std::swap(a, b);
    a = a.transposed(), b = b.transposed(), c = c.transposed();
  }
  profiles::Call call;
  call.dtype = dtype_of<T>;
  call.m = c.rows, call.n = c.cols, call.k = a.cols;
  call.trans_a = a.col_stride != 1, call.trans_b = b.col_stride != 1;
  call.same_operand = a.data == b.data;
  call.constant_b = false;
  const auto offset = [](const T* data) { return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(data) % 64); };
  call.a_offset = offset(a.data), call.b_offset = offset(b.data), call.c_offset = offset(c.data);
  const std::optional<Order> resolved = profiles::resolve(order, call);
  if (!resolved) throw Error(Code::unsupported, "the profile " + order.text() + " does not know this call");
  samebits::gemm(alpha, a, b, beta, c, *resolved);
}

// Runs f; where it fails without having touched the result, `c` becomes NaN.
template <class T, class F>
void guard(const char* name, MatrixView<T> c, F&& f) noexcept {
  try {
    f();
  } catch (const BadArgument& e) {
    report(name, e.what);
  } catch (const std::exception& e) {
    report(name, e.what());
    fill_nan(c);
  }
}

// BLAS walks a vector with a negative increment from its far end.
template <class T>
T* first(T* x, Index n, Index inc) {
  return inc < 0 ? x + (1 - n) * inc : x;
}

}  // namespace

Trans trans(char letter) {
  switch (letter) {
    case 'N': case 'n': return Trans::no;
    case 'T': case 't': case 'C': case 'c': return Trans::yes;
    default: return Trans::bad;
  }
}

Uplo uplo(char letter) {
  switch (letter) {
    case 'U': case 'u': return Uplo::upper;
    case 'L': case 'l': return Uplo::lower;
    default: return Uplo::bad;
  }
}

Trans trans(int cblas) { return cblas == 111 ? Trans::no : cblas == 112 || cblas == 113 ? Trans::yes : Trans::bad; }
Uplo uplo(int cblas) { return cblas == 121 ? Uplo::upper : cblas == 122 ? Uplo::lower : Uplo::bad; }

template <class T>
void gemm(const char* name, Layout layout, Trans trans_a, Trans trans_b, Index m, Index n, Index k, T alpha, const T* a, Index lda,
          const T* b, Index ldb, T beta, T* c, Index ldc) {
  const auto c_view = view(layout, Trans::no, c, m, n, ldc);
  guard(name, c_view, [&] {
    require(layout == Layout::rows || layout == Layout::columns, "illegal layout");
    require(trans_a != Trans::bad && trans_b != Trans::bad, "illegal transpose");
    require(m >= 0 && n >= 0 && k >= 0, "negative size");
    const bool rows = layout == Layout::rows;
    require(lda >= std::max<Index>(1, rows == (trans_a == Trans::no) ? k : m), "illegal lda");
    require(ldb >= std::max<Index>(1, rows == (trans_b == Trans::no) ? n : k), "illegal ldb");
    require(ldc >= std::max<Index>(1, rows ? n : m), "illegal ldc");
    if (m == 0 || n == 0) return;
    product<T>(layout, alpha, view(layout, trans_a, a, m, k, lda), view(layout, trans_b, b, k, n, ldb), beta, c_view);
  });
}

template <class T>
void gemv(const char* name, Layout layout, Trans trans, Index m, Index n, T alpha, const T* a, Index lda, const T* x, Index incx,
          T beta, T* y, Index incy) {
  const Index rows = trans == Trans::yes ? n : m, k = trans == Trans::yes ? m : n;
  const MatrixView<T> y_view{first(y, rows, incy), rows, 1, incy, 1};
  guard(name, y_view, [&] {
    require(layout == Layout::rows || layout == Layout::columns, "illegal layout");
    require(trans != Trans::bad, "illegal transpose");
    require(m >= 0 && n >= 0, "negative size");
    require(lda >= std::max<Index>(1, layout == Layout::rows ? n : m), "illegal lda");
    require(incx != 0 && incy != 0, "illegal increment");
    if (m == 0 || n == 0) return;  // as the reference BLAS: y is left alone
    const MatrixView<const T> x_view{first(x, k, incx), k, 1, incx, 1};
    product<T>(layout, alpha, view(layout, trans, a, rows, k, lda), x_view, beta, y_view);
  });
}

template <class T>
T dot(const char* name, Index n, const T* x, Index incx, const T* y, Index incy) {
  T result = 0;
  if (n <= 0) return result;
  const MatrixView<T> c{&result, 1, 1, 1, 1};
  guard(name, c, [&] {
    product<T>(Layout::rows, T(1), {first(x, n, incx), 1, n, 1, incx}, {first(y, n, incy), n, 1, incy, 1}, T(0), c);
  });
  return result;
}

template <class T>
void syrk(const char* name, Layout layout, Uplo uplo, Trans trans, Index n, Index k, T alpha, const T* a, Index lda, T beta, T* c,
          Index ldc) {
  const auto c_view = view(layout, Trans::no, c, n, n, ldc);
  // The triangle of row i: columns [begin, end).
  const auto columns = [&](Index i) {
    return uplo == Uplo::upper ? std::pair<Index, Index>{i, n} : std::pair<Index, Index>{0, i + 1};
  };
  // An empty view: the guard leaves the other triangle alone.
  guard(name, MatrixView<T>{}, [&] {
    require(layout == Layout::rows || layout == Layout::columns, "illegal layout");
    require(uplo != Uplo::bad && trans != Trans::bad, "illegal triangle or transpose");
    require(n >= 0 && k >= 0, "negative size");
    require(lda >= std::max<Index>(1, (layout == Layout::rows) == (trans == Trans::no) ? k : n), "illegal lda");
    require(ldc >= std::max<Index>(1, n), "illegal ldc");
    if (n == 0) return;
    try {
      // Rows a block at a time: the square on the diagonal beside C, of which one triangle is kept, and the rectangle next to
      // it. An order that depends on the place in C, or on the shape, needs the whole square.
      const Order& order = current_order();
      const bool whole = order.is_profile() || order.has_regions();
      const Index size = whole ? n : std::min(n, std::max<Index>(96, (n + 3) / 4));
      std::vector<T> memory(static_cast<std::size_t>(size) * size);
      const auto a_view = view(layout, trans, a, n, k, lda);
      const auto a_rows = [&](Index begin, Index end) { return part(a_view, begin, 0, end - begin, k); };
      for (Index i0 = 0; i0 < n; i0 += size) {
        const Index i1 = std::min(n, i0 + size);
        const auto square = row_major(memory.data(), i1 - i0, i1 - i0);
        const auto each = [&](auto f) {
          for (Index i = i0; i < i1; ++i)
            for (auto [j, end] = columns(i); j < end; ++j)
              if (j >= i0 && j < i1) f(square(i - i0, j - i0), c_view(i, j));
        };
        if (beta != 0) each([](T& x, T& c) { x = c; });
        product<T>(layout, alpha, a_rows(i0, i1), a_rows(i0, i1).transposed(), beta, square);
        each([](T& x, T& c) { c = x; });
        const auto [j0, j1] = uplo == Uplo::upper ? std::pair<Index, Index>{i1, n} : std::pair<Index, Index>{0, i0};
        if (j0 < j1)
          product<T>(layout, alpha, a_rows(i0, i1), a_rows(j0, j1).transposed(), beta, part(c_view, i0, j0, i1 - i0, j1 - j0));
      }
    } catch (const std::exception&) {
      for (Index i = 0; i < n; ++i)
        for (auto [j, end] = columns(i); j < end; ++j) c_view(i, j) = std::numeric_limits<T>::quiet_NaN();
      throw;
    }
  });
}

template void gemm(const char*, Layout, Trans, Trans, Index, Index, Index, float, const float*, Index, const float*, Index, float,
                   float*, Index);
template void gemm(const char*, Layout, Trans, Trans, Index, Index, Index, double, const double*, Index, const double*, Index,
                   double, double*, Index);
template void gemv(const char*, Layout, Trans, Index, Index, float, const float*, Index, const float*, Index, float, float*,
                   Index);
template void gemv(const char*, Layout, Trans, Index, Index, double, const double*, Index, const double*, Index, double, double*,
                   Index);
template float dot(const char*, Index, const float*, Index, const float*, Index);
template double dot(const char*, Index, const double*, Index, const double*, Index);
template void syrk(const char*, Layout, Uplo, Trans, Index, Index, float, const float*, Index, float, float*, Index);
template void syrk(const char*, Layout, Uplo, Trans, Index, Index, double, const double*, Index, double, double*, Index);

}  // namespace samebits::blas

extern "C" int samebits_cblas_set_order(const char* text) {
  using namespace samebits;
  try {
    if (text) {
      blas::thread_order = Order::parse(text);
    } else {
      blas::thread_order.reset();
    }
    return 0;
  } catch (const Error& e) {
    return static_cast<int>(e.code());
  } catch (const std::exception&) {
    return static_cast<int>(Code::out_of_memory);
  }
}
