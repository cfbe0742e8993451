// SPDX-License-Identifier: Apache-2.0
#include "cli/product.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "cli/options.h"
#include "cli/verb.h"
#include "explain/bound.h"
#include "profiles/profile.h"
#include "samebits/backend.h"
#include "samebits/gemm.h"
#include "samebits/probe.h"

namespace samebits::cli {
namespace {

[[noreturn]] void bad(const std::string& message) {
  throw Error(Code::invalid_argument, message);
}

template <class T>
const std::vector<T>& data(const io::Array& array) {
  if constexpr (std::is_same_v<T, float>)
    return array.f32;
  else
    return array.f64;
}

io::Array read(const std::string& path, const ProductOptions& options) {
  auto array = io::read_npy(path, options.void16);
  return array;
}

// What LEFT or RIGHT says: a file, an order, a profile, or something that multiplies.
struct SideText {
  enum Kind { dump, order, backend } kind = dump;
  std::string text;
};

SideText side_text(const std::string& s) {
  if (s.starts_with("order:")) return {SideText::order, s.substr(6)};
  if (s.starts_with("profile:")) return {SideText::order, s.substr(8)};
  if (std::filesystem::exists(s) || s.ends_with(".npy")) return {SideText::dump, s};
  const auto name = s.substr(0, s.find_first_of(":("));
  for (const auto& b : backends())
    if (b.name == name || b.name.substr(0, b.name.find(':')) == name) return {SideText::backend, s};
  try {
    Order::parse(s);
    return {SideText::order, s};
  } catch (const Error& e) {
    bad(fmt::format("{}: no such file, no backend of that name, and no order ({})", s, e.what()));
  }
}

std::string reading_text(const io::Reading& r) {
  return fmt::format("{}{}{}", r.trans_a ? "A transposed" : "A as stored", " and ",
                     r.trans_b ? "B transposed" : "B as stored");
}

template <class T>
class Product {
 public:
  Product(const ProductOptions& options, io::Array a, io::Array b) : options_(options), a_(std::move(a)), b_(std::move(b)) {
    const SideText texts[] = {side_text(options.left), side_text(options.right)};
    std::optional<io::Array> dumps[2];
    std::optional<std::vector<Index>> shape;
    for (int s : {0, 1}) {
      if (texts[s].kind != SideText::dump) continue;
      dumps[s] = read(texts[s].text, options);
      if (dumps[s]->dtype() != dtype_of<T>)
        bad(fmt::format("{} holds {}, but {} holds {}", texts[s].text, io::name(dumps[s]->stored), options.a,
                        io::name(a_.stored)));
      if (shape && *shape != dumps[s]->shape)
        bad(fmt::format("{} is {}, but {} is {}", texts[1].text, dumps[1]->shape_text(), texts[0].text,
                        dumps[0]->shape_text()));
      shape = dumps[s]->shape;
    }
    if (!options.c.empty()) c_file_ = read(options.c, options);
    choose_reading(shape, dumps);
    // "numpy" for results/numpy.npy, unless both files are called so.
    for (int s : {0, 1}) names_[s] = dumps[s] ? std::filesystem::path(texts[s].text).stem().string() : texts[s].text;
    if (names_[0] == names_[1]) names_[0] = options.left, names_[1] = options.right;
    for (int s : {0, 1}) sides[s] = side(s, texts[s], dumps[s]);
  }

  explain::Report explain() {
    explain::Options o;
    o.threads = static_cast<int>(std::max(1u, std::min(4u, std::thread::hardware_concurrency())));
    if (globals().progress) o.progress = [](const std::string& what) { fmt::print(stderr, "\r\x1b[K{} ...", what); };
    if (options_.element.size() == 2) o.element = {0, options_.element[0], options_.element[1]};
    auto report = explain::explain(problem, sides[0], sides[1], o);
    if (globals().progress) fmt::print(stderr, "\r\x1b[K");
    for (int s : {0, 1})
      if (!note_.empty()) report.sides[s].notes.push_back(note_);
    return report;
  }

  explain::Problem<T> problem;
  explain::Side<T> sides[2];

 private:
  void form(const io::Reading& reading) {
    operands_ = io::operands(a_, b_, reading);
    problem = {};
    for (Index i = 0; i < operands_.count; ++i) {
      problem.a.push_back(operands_.a(data<T>(a_).data(), i));
      problem.b.push_back(operands_.b(data<T>(b_).data(), i));
    }
    problem.a_shape = operands_.a_shape;
    problem.b_shape = operands_.b_shape;
    problem.trans_a = reading.trans_a;
    problem.trans_b = reading.trans_b;
    problem.threads = options_.threads;
    if (!c_file_) return;
    try {
      if constexpr (std::is_same_v<T, float>)
        c_ = io::broadcast_f32(*c_file_, operands_.c_shape);
      else
        c_ = io::broadcast_f64(*c_file_, operands_.c_shape);
    } catch (const Error& e) {
      bad(fmt::format("{}: {}", options_.c, e.what()));
    }
    if (c_.size() != static_cast<std::size_t>(problem.elements()))
      bad(fmt::format("{}: not of the type of {}", options_.c, options_.a));
    for (Index i = 0; i < operands_.count; ++i) problem.c.push_back(operands_.c(static_cast<const T*>(c_.data()), i));
  }

  // Whether sixteen elements of the dump can be this product in any precision, c added or forgotten.
  bool plausible(const io::Array& dump) const {
    const Index elements = problem.elements(), k = problem.k();
    std::vector<T> a(k), b(k);
    for (Index s = 0; s < 16; ++s) {
      const Index e = s * (elements - 1) / 15, mn = problem.m() * problem.n();
      const Index item = e / mn, i = e % mn / problem.n(), j = e % problem.n();
      for (Index q = 0; q < k; ++q) {
        a[q] = problem.a[item](i, q);
        b[q] = problem.b[item](q, j);
      }
      explain::Element<T> element{a.data(), b.data(), a.size(), {}};
      bool fits = bool(explain::size_of_error(element, data<T>(dump)[e]));
      if (!problem.c.empty()) {
        element.scale.beta = 1, element.scale.c = problem.c[item](i, j);
        fits |= bool(explain::size_of_error(element, data<T>(dump)[e]));
      }
      if (!fits) return false;
    }
    return true;
  }

  void choose_reading(const std::optional<std::vector<Index>>& shape, const std::optional<io::Array> (&dumps)[2]) {
    const io::Reading asked{options_.reading.a, options_.reading.b};
    const auto fitting = io::readings(a_, b_, shape);
    if (fitting.empty())
      bad(fmt::format("{} {} and {} {} have no product{}", options_.a, a_.shape_text(), options_.b, b_.shape_text(),
                      shape ? fmt::format(" of the shape {} of {}", (dumps[0] ? dumps[0] : dumps[1])->shape_text(),
                                          dumps[0] ? options_.left : options_.right)
                            : ""));
    if (asked.trans_a || asked.trans_b) {
      if (std::ranges::find(fitting, asked) == fitting.end())
        bad(fmt::format("{} does not fit the shapes", reading_text(asked)));
      return form(asked);
    }
    if (fitting.size() == 1) return form(fitting.front());
    // Shapes do not tell: the values do.
    std::vector<io::Reading> both, one;
    for (const auto& r : fitting) {
      form(r);
      const int dumped = bool(dumps[0]) + bool(dumps[1]);
      int fits = 0;
      for (const auto& d : dumps) fits += d && plausible(*d);
      if (dumped == 0 ? r == asked : fits == dumped)
        both.push_back(r);
      else if (fits)
        one.push_back(r);
    }
    if (both.empty() && one.size() > 1 && std::ranges::find(one, asked) != one.end()) {
      note_ = "read as stored; no reading that the shapes allow fits both results";
      return form(asked);
    }
    const auto& chosen = both.empty() ? one : both;
    if (chosen.size() != 1)
      bad(fmt::format("{} {} and {} {}: {} readings of them fit the results; say --ta or --tb", options_.a, a_.shape_text(),
                      options_.b, b_.shape_text(), chosen.size()));
    note_ = fmt::format("read with {}: of {} readings that the shapes allow, the one whose values fit",
                        reading_text(chosen.front()), fitting.size());
    form(chosen.front());
  }

  explain::Side<T> side(int s, const SideText& text, const std::optional<io::Array>& dump) {
    explain::Side<T> side;
    side.name = names_[s];
    side.profile = s ? options_.right_profile : options_.left_profile;
    if (dump) {
      side.values = data<T>(*dump);
      if (dump->stored == io::Stored::f16) side.format = Format::fp16;
      if (dump->stored == io::Stored::bf16) side.format = Format::bf16;
      return side;
    }
    side.values.resize(problem.elements());
    const Index mn = problem.m() * problem.n();
    const bool added = !problem.c.empty();
    if (added) side.values.assign(c_.begin(), c_.end());
    if (text.kind == SideText::order) {
      side.order = Order::parse(text.text);
      if (side.order->is_profile()) {
        profiles::Call call{.dtype = dtype_of<T>,
                            .m = problem.m(),
                            .n = problem.n(),
                            .k = problem.k(),
                            .trans_a = problem.trans_a,
                            .trans_b = problem.trans_b,
                            .a_shape = problem.a_shape,
                            .b_shape = problem.b_shape,
                            .a_contiguous = operands_.a_contiguous,
                            .b_contiguous = operands_.b_contiguous,
                            .bias = added,
                            .threads = std::max(1, problem.threads)};
        side.order = profiles::resolve(*side.order, call);
        if (!side.order) bad(fmt::format("{} does not know this call", text.text));
      }
      const Plan<T> plan(*side.order, problem.m(), problem.n(), problem.k());
      for (Index i = 0; i < problem.batch(); ++i)
        plan.run(1, problem.a[i], problem.b[i], added ? T(1) : T(0),
                 row_major(side.values.data() + i * mn, problem.m(), problem.n()));
      return side;
    }
    const auto backend = open_backend(text.text);
    for (Index i = 0; i < problem.batch(); ++i) {
      const auto& a = problem.a[i];
      const auto& b = problem.b[i];
      backend->multiply(BackendCall<T>{.m = problem.m(),
                                       .n = problem.n(),
                                       .k = problem.k(),
                                       .trans_a = problem.trans_a,
                                       .trans_b = problem.trans_b,
                                       .beta = added ? T(1) : T(0),
                                       .a = a.data,
                                       .lda = problem.trans_a ? a.col_stride : a.row_stride,
                                       .b = b.data,
                                       .ldb = problem.trans_b ? b.col_stride : b.row_stride,
                                       .c = side.values.data() + i * mn,
                                       .ldc = problem.n(),
                                       .threads = std::max(1, problem.threads)});
    }
    if (problem.batch() > 1) return side;  // searched like a dump
    // A live side is asked, at exactly this call; what it answers must replay these values too.
    const auto at64 = [](const T* x) { return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(x) % 64); };
    ProbeOptions asked;
    asked.epilogue = added;
    const auto probed = probe(*backend,
                              {.dtype = dtype_of<T>,
                               .m = problem.m(),
                               .n = problem.n(),
                               .k = problem.k(),
                               .trans_a = problem.trans_a,
                               .trans_b = problem.trans_b,
                               .threads = std::max(1, problem.threads),
                               .a_offset = at64(problem.a[0].data),
                               .b_offset = at64(problem.b[0].data),
                               .c_offset = at64(side.values.data())},
                              asked);
    if (probed.ok()) {
      side.order = probed.order;
      side.source = fmt::format("probed in {} calls of {}, replayed on two data sets and on these inputs", probed.calls,
                                backend->description());
    }
    return side;
  }

  const ProductOptions& options_;
  io::Array a_, b_;
  std::optional<io::Array> c_file_;
  std::vector<T> c_;
  io::Operands operands_;
  std::string note_, names_[2];
};

}  // namespace

void add_product(CLI::App& app, ProductOptions& options) {
  app.add_option("A", options.a, ".npy file, (..., m, k)")->required();
  app.add_option("B", options.b, ".npy file, (..., k, n) or, as a layer's weight, (n, k)")->required();
  app.add_option("LEFT", options.left, "a result: .npy file, order, profile or backend")->required();
  app.add_option("RIGHT", options.right, "another result")->required();
  app.add_option("--c", options.c, "what was added to the product: a bias, or a whole C");
  app.add_option("--left-profile", options.left_profile, "try only this profile for LEFT, e.g. 'openblas(core=haswell)'");
  app.add_option("--right-profile", options.right_profile, "the same for RIGHT");
  app.add_option("--threads", options.threads, "threads of the calls that made the results (default: not known)")
      ->check(at_least(0));
  app.add_option("--element", options.element, "row and column of the element to trace")->expected(2)->check(at_least(0));
  add_reading(app, options.reading);
  add_dtype(app, options.void16);
  app.add_flag("--json", options.json, "print JSON");
}

explain::Report explain_product(const ProductOptions& options) {
  auto a = read(options.a, options), b = read(options.b, options);
  if (a.dtype() != b.dtype())
    bad(fmt::format("{} holds {}, but {} holds {}", options.a, io::name(a.stored), options.b, io::name(b.stored)));
  if (a.dtype() == DType::f64) return Product<double>(options, std::move(a), std::move(b)).explain();
  return Product<float>(options, std::move(a), std::move(b)).explain();
}

}  // namespace samebits::cli
