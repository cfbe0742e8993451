// SPDX-License-Identifier: Apache-2.0
#include "explain/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "explain/compare.h"
#include "reference/float_environment.h"

namespace samebits::explain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Arithmetic of a product: inputs rounded with relative error `input` and absolute error `input_least`, sums with `unit`.
struct Model {
  double input = 0, input_least = 0, input_greatest = kInfinity;
  double unit = 0, least = 0, greatest = 0;  // accumulator: unit roundoff, least subnormal, greatest number
  double roundings = 0;                      // besides the epilogue's
  int block = 0, fraction = 0;               // tensor core; 0: none
  double blocks = 0, emin_power = 0;         // how many; 2^emin of the input format
};

Model accumulator(bool is_double) {
  Model m;
  m.unit = is_double ? 0x1p-53 : 0x1p-24;
  m.least = is_double ? 0x1p-1074 : 0x1p-149;
  m.greatest = is_double ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  return m;
}

void round_inputs(Model& m, Format format, bool to_nearest) {
  const double half = to_nearest ? 0.5 : 1;
  switch (format) {
    case Format::none:
      return;
    case Format::tf32:
      m.input = half * 0x1p-10, m.input_least = half * 0x1p-136, m.input_greatest = 0x1.ffcp127;
      break;
    case Format::bf16:
      m.input = half * 0x1p-7, m.input_least = half * 0x1p-133, m.input_greatest = 0x1.fep127;
      break;
    case Format::fp16:
      m.input = half * 0x1p-10, m.input_least = half * 0x1p-24, m.input_greatest = 65504;
      break;
  }
  m.emin_power = format == Format::fp16 ? 0x1p-14 : 0x1p-126;
}

template <class T>
Model model(Precision precision, std::size_t k) {
  Model m = accumulator(precision == Precision::f64);
  m.roundings = static_cast<double>(k);  // in any binary tree a product is rounded once and passes at most k - 1 additions
  switch (precision) {
    case Precision::f64:
      break;
    case Precision::f32:
      if (sizeof(T) == 8) m.input = 0x1p-24, m.input_least = 0x1p-150, m.input_greatest = std::numeric_limits<float>::max();
      break;
    case Precision::tf32:
      round_inputs(m, Format::tf32, false);
      break;  // hardware truncates
    case Precision::bf16:
      round_inputs(m, Format::bf16, true);
      break;
    case Precision::fp16:
      round_inputs(m, Format::fp16, true);
      break;
  }
  // The loosest tensor core: blocks of four, 23 fraction bits (Volta).
  if (precision >= Precision::tf32) m.block = 4, m.fraction = 23, m.blocks = std::ceil(m.roundings / 4);
  return m;
}

template <class T>
Model model(const Order& order, std::size_t k) {
  Model m = accumulator(sizeof(T) == 8);
  const InputRounding input = order.input();
  round_inputs(m, input.format, input.rounding == Rounding::rne || input.rounding == Rounding::rna);
  double merges = 0;
  for (const Node& node : order.tree(k).nodes) {
    m.roundings += node.wide;  // once more where its value leaves it
    for (const Item& item : node.items) {
      if (item.is_node()) {
        ++merges;
      } else if (item.op != Op::mma) {
        m.roundings += item.count;
      } else {
        const double l = item.block, residue = std::min(item.residue, item.count);
        m.blocks += std::ceil(residue / l) + std::ceil((item.count - residue) / l);
        m.block = std::max<int>(m.block, item.block);
        m.fraction = m.fraction ? std::min<int>(m.fraction, item.fraction) : item.fraction;
        m.emin_power = std::ldexp(1.0, item.emin);
      }
    }
  }
  if (m.block) m.roundings += merges;  // else among the k - 1 additions
  if (order.out() != Format::none) {
    Model out;
    round_inputs(out, order.out(), true);
    m.unit = std::max(m.unit, out.input), m.least = std::max(m.least, out.input_least);
    m.greatest = std::min(m.greatest, out.input_greatest);
  }
  return m;
}

// Sums of magnitudes, each at least the true value.
struct Magnitudes {
  double products = 0, a = 0, b = 0, greatest_a = 0, greatest_b = 0;
};

template <class T>
Magnitudes magnitudes(const Element<T>& e) {
  Magnitudes m;
  if (e.scale.alpha == 0) return m;
  for (std::size_t i = 0; i < e.k; ++i) {
    const double a = std::fabs(static_cast<double>(e.a[i])), b = std::fabs(static_cast<double>(e.b[i]));
    m.products += a * b;
    m.a += a, m.b += b;
    m.greatest_a = std::max(m.greatest_a, a), m.greatest_b = std::max(m.greatest_b, b);
  }
  // k roundings to nearest each, and underflow of the double products.
  const double up = 1 + 0x1p-51 * (static_cast<double>(e.k) + 2);
  m.products = m.products * up + static_cast<double>(e.k) * 0x1p-1074;
  m.a *= up, m.b *= up;
  return m;
}

template <class T>
double bound(const Model& m, const Element<T>& e) {
  const auto& s = e.scale;
  const Magnitudes x = magnitudes(e);
  if (x.greatest_a > m.input_greatest || x.greatest_b > m.input_greatest) return kInfinity;
  const double alpha = s.alpha == 0 ? 0 : std::fabs(static_cast<double>(s.alpha));
  const double c = s.beta == 0 ? 0 : std::fabs(static_cast<double>(s.beta) * static_cast<double>(s.c));
  const double bias = s.has_bias ? std::fabs(static_cast<double>(s.bias)) : 0;
  const double k = static_cast<double>(e.k);

  const double inputs = alpha * (x.products * (2 * m.input + m.input * m.input) + m.input_least * (x.a + x.b) +
                                 k * m.input_least * m.input_least);
  const double sum = alpha * x.products + c + bias + inputs;
  const double roundings = m.roundings + (s.alpha != 1) + (s.beta != 0) + (s.beta != 0 && s.beta != 1) + s.has_bias;
  double relative = roundings * m.unit, absolute = (std::max(alpha, 1.0) + 1) * (k + 2) * m.least;
  if (m.block) {
    const double cut = (m.block + 1) * std::ldexp(1.0, -m.fraction);
    relative += m.blocks * (cut + 0x1p-23);
    // Subnormal operands and zero terms are aligned to the format's least exponent.
    absolute += std::max(alpha, 1.0) * m.blocks * cut *
                (m.emin_power * (x.greatest_a + x.greatest_b + m.emin_power) + std::ldexp(1.0, -108 - m.fraction));
  }
  if (relative >= 0.5) return kInfinity;  // the estimate says nothing any more
  const double result = relative / (1 - relative) * sum + inputs + absolute;
  if (!(sum + result < m.greatest)) return kInfinity;
  return result * (1 + 0x1p-40);  // the few operations above
}

template <class T>
bool finite_terms(const Element<T>& e) {
  const auto finite = [](const T* x, std::size_t n) { return std::all_of(x, x + n, [](T v) { return std::isfinite(v); }); };
  const auto& s = e.scale;
  return (s.alpha == 0 || (std::isfinite(s.alpha) && finite(e.a, e.k) && finite(e.b, e.k))) &&
         (s.beta == 0 || (std::isfinite(s.beta) && std::isfinite(s.c))) && (!s.has_bias || std::isfinite(s.bias));
}

// exact - value, as one long dot product in double.
template <class T>
double exact_sum(const Element<T>& e, double value) {
  const auto& s = e.scale;
  std::vector<double> x, y;
  x.reserve(2 * e.k + 3), y.reserve(2 * e.k + 3);
  const auto add = [&](double p, double q) { x.push_back(p), y.push_back(q); };
  for (std::size_t i = 0; s.alpha != 0 && i < e.k; ++i) {
    const double a = e.a[i], b = e.b[i], high = a * static_cast<double>(s.alpha);
    add(high, b);
    // alpha*a in two parts where it is not exact (double only; barring underflow of the second).
    if (const double low = std::fma(a, static_cast<double>(s.alpha), -high); low != 0 && std::isfinite(low)) add(low, b);
  }
  if (s.beta != 0) add(s.beta, s.c);
  if (s.has_bias) add(s.bias, 1);
  if (value != 0) add(value, -1);
  return reference::exact_dot(x.data(), y.data(), x.size());
}

// sum a*b in about twice the precision of double (Ogita, Rump & Oishi's Dot2): |result - exact| <= slack.
template <class T>
double quick_sum(const Element<T>& e, double& slack) {
  double sum = 0, low = 0, products = 0;
  for (std::size_t i = 0; i < e.k; ++i) {
    const double a = e.a[i], b = e.b[i], p = a * b, t = sum + p, z = t - sum;
    low += std::fma(a, b, -p) + ((sum - (t - z)) + (p - z));
    products += std::fabs(p);
    sum = t;
  }
  const double gamma = static_cast<double>(e.k) * 0x1p-51;
  slack = std::fabs(sum) * 0x1p-51 + gamma * gamma * products + static_cast<double>(e.k) * 0x1p-1070;
  return sum + low;
}

}  // namespace

std::string name(Precision precision) {
  switch (precision) {
    case Precision::f64:
      return "float64";
    case Precision::f32:
      return "float32";
    case Precision::tf32:
      return "TF32";
    case Precision::bf16:
      return "BF16";
    case Precision::fp16:
      break;
  }
  return "FP16";
}

template <class T>
double exact_value(const Element<T>& element) {
  return exact_sum(element, 0);
}
template <class T>
double exact_error(const Element<T>& element, T value) {
  return -exact_sum(element, static_cast<double>(value));
}
template <class T>
double error_bound(Precision precision, const Element<T>& element) {
  return bound(model<T>(precision, element.k), element);
}
template <class T>
double error_bound(const Order& order, const Element<T>& element) {
  return bound(model<T>(order, element.k), element);
}

namespace {

// |error| / bound, 0 where all goes; NaN where one of value and exact value is finite and the other must be too.
template <class T>
double error_ratio(const Model& m, const Element<T>& e, T value) {
  if (!finite_terms(e)) return same_bits(exact_value(e), static_cast<double>(value)) ? 0 : std::nan("");
  const double limit = bound(m, e);
  if (std::isinf(limit)) return 0;
  if (!std::isfinite(value)) return std::nan("");
  if (e.scale.alpha == 1 && e.scale.beta == 0 && !e.scale.has_bias) {
    double slack;
    const double sum = quick_sum(e, slack), most = std::fabs(sum - static_cast<double>(value)) * (1 + 0x1p-50) + slack;
    if (most <= limit) return most / limit;
  }
  const double error = std::fabs(exact_error(e, value));
  return error == 0 ? 0 : error / limit;
}

}  // namespace

template <class T>
bool within(Precision precision, const Element<T>& element, T value) {
  return error_ratio(model<T>(precision, element.k), element, value) <= 1;
}

template <class T>
std::optional<Precision> size_of_error(const Element<T>& element, T value) {
  for (const Precision p : {Precision::f64, Precision::f32, Precision::tf32, Precision::bf16, Precision::fp16})
    if ((sizeof(T) == 8 || p != Precision::f64) && within(p, element, value)) return p;
  return std::nullopt;
}

template <class T>
BoundReport check_bound(Precision precision, MatrixView<const T> a, MatrixView<const T> b, MatrixView<const T> value,
                        T alpha, T beta, MatrixView<const T> c, Bias<T> bias) {
  const FloatEnvironment environment;
  const Index k = a.cols;
  const Model m = model<T>(precision, static_cast<std::size_t>(k));
  const InputRounding as_given;
  std::vector<T> rows(a.rows * k), column(k);
  for (Index i = 0; i < a.rows; ++i)
    reference::gather(as_given, a.data + i * a.row_stride, a.col_stride, k, rows.data() + i * k);
  BoundReport report;
  report.elements = value.rows * value.cols;
  for (Index j = 0; j < value.cols; ++j) {
    reference::gather(as_given, b.data + j * b.col_stride, b.row_stride, k, column.data());
    for (Index i = 0; i < value.rows; ++i) {
      Element<T> e{rows.data() + i * k, column.data(), static_cast<std::size_t>(k), {}};
      e.scale.alpha = alpha;
      if (c.data && beta != 0) e.scale.beta = beta, e.scale.c = c(i, j);
      if (bias.data) e.scale.has_bias = true, e.scale.bias = bias.data[j * bias.stride];
      const double ratio = error_ratio(m, e, value(i, j));
      report.outside += !(ratio <= 1);
      if (report.worst_row < 0 || ratio > report.worst_ratio || (std::isnan(ratio) && !std::isnan(report.worst_ratio))) {
        report.worst_ratio = ratio;
        report.worst_row = i;
        report.worst_col = j;
      }
    }
  }
  return report;
}

template double exact_value(const Element<float>&);
template double exact_value(const Element<double>&);
template double exact_error(const Element<float>&, float);
template double exact_error(const Element<double>&, double);
template double error_bound(Precision, const Element<float>&);
template double error_bound(Precision, const Element<double>&);
template double error_bound(const Order&, const Element<float>&);
template double error_bound(const Order&, const Element<double>&);
template bool within(Precision, const Element<float>&, float);
template bool within(Precision, const Element<double>&, double);
template std::optional<Precision> size_of_error(const Element<float>&, float);
template std::optional<Precision> size_of_error(const Element<double>&, double);
template BoundReport check_bound(Precision, MatrixView<const float>, MatrixView<const float>, MatrixView<const float>, float,
                                 float, MatrixView<const float>, Bias<float>);
template BoundReport check_bound(Precision, MatrixView<const double>, MatrixView<const double>, MatrixView<const double>,
                                 double, double, MatrixView<const double>, Bias<double>);

}  // namespace samebits::explain
