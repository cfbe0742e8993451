// SPDX-License-Identifier: Apache-2.0
#include "samebits/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "explain/attribute.h"
#include "explain/bound.h"
#include "explain/compare.h"
#include "explain/diagnose.h"
#include "explain/regions.h"
#include "explain/search.h"
#include "explain/trace.h"

namespace samebits::explain {
namespace {

constexpr Index most_judged = 4096;  // elements whose distance from the exact result is computed

template <class T>
void check(const Problem<T>& p, const Side<T>& side) {
  const auto fail = [](const std::string& what) { throw Error(Code::invalid_argument, what); };
  if (p.a.empty() || p.a.size() != p.b.size()) fail("explain: as many A as B are needed, and at least one");
  for (Index i = 0; i < p.batch(); ++i) {
    if (p.a[i].rows != p.m() || p.a[i].cols != p.k() || p.b[i].rows != p.k() || p.b[i].cols != p.n())
      fail(fmt::format("explain: the product {} of the batch is {} x {} times {} x {}, not {} x {} times {} x {}", i,
                       p.a[i].rows, p.a[i].cols, p.b[i].rows, p.b[i].cols, p.m(), p.k(), p.k(), p.n()));
  }
  if (!p.c.empty() && std::ssize(p.c) != p.batch()) fail("explain: one c for each product of the batch");
  for (const auto& c : p.c)
    if (c.rows != p.m() || c.cols != p.n())
      fail(fmt::format("explain: c is {} x {}, the product {} x {}", c.rows, c.cols, p.m(), p.n()));
  if (std::ssize(side.values) != p.elements())
    fail(fmt::format("explain: {} holds {} elements, the product has {}", side.name, side.values.size(), p.elements()));
}

Index length(const Range& r, Index limit) {
  const Index end = std::min(r.end, limit);
  return end <= r.begin ? 0 : (end - r.begin + r.step - 1) / r.step;
}
Range clip(const Range& r, Index limit) {
  return {r.begin, std::min(r.end, limit), r.step};
}

// One entry for each region of the order, all with the same facts; `like` gives them.
template <class T>
std::vector<RegionReport> regions_of(const Order& order, const Problem<T>& p, const RegionReport& like) {
  std::vector<RegionReport> list;
  const Index m = p.m(), n = p.n();
  std::vector<std::uint8_t> taken(m * n);
  const auto add = [&](const Range& rows, const Range& cols, const Order& o) {
    RegionReport r = like;
    r.rows = clip(rows, m);
    r.cols = clip(cols, n);
    r.order = o.text();
    r.elements = 0;
    for (Index i = r.rows.begin; i < r.rows.end; i += r.rows.step)
      for (Index j = r.cols.begin; j < r.cols.end; j += r.cols.step)
        if (!std::exchange(taken[i * n + j], std::uint8_t{1})) r.elements += p.batch();
    if (r.elements) list.push_back(std::move(r));
  };
  if (order.has_regions())
    for (const Region& region : order.regions()) add(region.rows, region.cols, region.order);
  add(Range::all(), Range::all(), order.rest());
  return list;
}

template <class T>
SideReport find_order(const Problem<T>& p, const Side<T>& side, Search<T>& search, const Options& options) {
  SideReport r;
  r.name = side.name;
  if (side.order && std::ranges::equal(Replay<T>(p, options.threads).values(*side.order), side.values,
                                       [](T x, T y) { return same_bits(x, y); })) {
    r.order = side.order->text();
    RegionReport like;
    like.candidates = 1;
    like.identified = true;
    r.regions = regions_of(*side.order, p, like);
    r.explained = true;
    r.reproduced = p.elements();
    r.notes.push_back(side.source.empty() ? "given as an order, not searched" : side.source);
    return r;
  }
  const Fits fits = search.whole(side.values, side.profile);
  if (!fits.list.empty()) {
    const Fit& fit = fits.list.front();
    r.order = fit.order.text();
    r.explained = fits.identified();
    r.reproduced = p.elements();
    RegionReport like{
        .profiles = fit.profiles, .tried = fits.tried, .candidates = fits.candidates, .identified = r.explained};
    for (std::size_t i = 1; i < fits.list.size() && i <= 4; ++i) like.others.push_back(fits.list[i].order.text());
    if (fits.list.size() > 1)
      for (Index i = 0; i < p.m() && like.probe.empty(); ++i)
        for (Index j = 0; j < p.n() && like.probe.empty(); ++j)
          if (const Order x = fit.order.at(i, j), y = fits.list[1].order.at(i, j);
              !equivalent(x, y, static_cast<std::size_t>(p.k())))
            like.probe = search.probe(x, y);
    r.regions = regions_of(fit.order, p, like);
    if (fits.near_exact)
      r.notes.push_back(
          "as good as correctly rounded: a compensated sum, which no order describes, gives these bits as well");
    else if (!r.explained && fits.candidates == 1)
      r.notes.push_back(
          fmt::format("{} elements are too few to exclude luck (a wrong order would pass with probability {:.2g})",
                      p.elements(), fits.chance));
    return r;
  }

  const Diagnosis d = diagnose(p, side, search, options);
  r.outside = d.outside;
  r.notes = d.notes;
  if (d.outside || !side.profile.empty()) {
    r.regions = {{.rows = {0, p.m(), 1}, .cols = {0, p.n(), 1}, .elements = p.elements(), .tried = fits.tried}};
    return r;
  }
  r.regions = regions(search, side.values, options);
  r.explained = true;
  std::vector<Region> owned;
  for (auto& region : r.regions) {
    r.explained &= region.identified;
    region.tried = std::max(region.tried, fits.tried);
    if (region.order.empty()) continue;
    r.reproduced += region.elements;
    owned.push_back({region.rows, region.cols, Order::parse(region.order)});
  }
  if (r.reproduced < p.elements()) return r;
  const auto largest = std::max_element(owned.begin(), owned.end(), [&](const Region& x, const Region& y) {
    return length(x.rows, p.m()) * length(x.cols, p.n()) < length(y.rows, p.m()) * length(y.cols, p.n());
  });
  const Order rest = largest->order;
  owned.erase(largest);
  r.order = Order::with_regions(owned, rest).text();
  return r;
}

template <class T>
TraceReport trace_element(const Problem<T>& p, Index e, const Order& left, const Order& right, const std::string& left_name,
                          const std::string& right_name) {
  const Place at = place(p, e);
  std::vector<T> a(p.k()), b(p.k());
  for (Index i = 0; i < p.k(); ++i) {
    a[i] = p.a[at.item](at.i, i);
    b[i] = p.b[at.item](i, at.j);
  }
  reference::Scale<T> scale;
  if (!p.c.empty()) scale.beta = 1, scale.c = p.c[at.item](at.i, at.j);
  const Order l = left.at(at.i, at.j), r = right.at(at.i, at.j);
  const Trace t = trace(l, r, a.data(), b.data(), p.k(), scale);
  TraceReport report{.item = at.item,
                     .row = at.i,
                     .col = at.j,
                     .left_order = l.text(),
                     .right_order = r.text(),
                     .left = t.value(t.left),
                     .right = t.value(t.right),
                     .steps = {},
                     .text = t.text(left_name, right_name)};
  for (const TraceStep& s : t.steps)
    report.steps.push_back({leaves_text(s.leaves), t.value(s.left, s.left_wide), t.value(s.right, s.right_wide), s.differs});
  return report;
}

// Which side is nearer to the exact value, on the elements that differ.
template <class T>
void judge(const Problem<T>& p, const std::vector<Index>& different, const Side<T>& left, const Side<T>& right,
           Report& report) {
  std::vector<T> a(p.k()), b(p.k());
  const Index step = std::max<Index>(1, std::ssize(different) * p.k() / (most_judged * 512));
  for (Index d = 0; d < std::ssize(different); d += step) {
    const Index e = different[d];
    const Place at = place(p, e);
    for (Index i = 0; i < p.k(); ++i) {
      a[i] = p.a[at.item](at.i, i);
      b[i] = p.b[at.item](i, at.j);
    }
    Element<T> element{a.data(), b.data(), a.size(), {}};
    if (!p.c.empty()) element.scale.beta = 1, element.scale.c = p.c[at.item](at.i, at.j);
    const double l = std::fabs(exact_error(element, left.values[e])), r = std::fabs(exact_error(element, right.values[e]));
    report.nearer[0] += l < r;
    report.nearer[1] += r < l;
    ++report.judged;
  }
}

// What the user can set so that both sides agree.
template <class T>
void advise(const Problem<T>& p, Search<T>& search, const Side<T>& left, const Side<T>& right, const Options& options,
            Report& report) {
  const std::array sides = {&left, &right};
  const Replay<T> everything(p, options.threads);
  for (int s : {0, 1}) {
    const SideReport& mine = report.sides[s];
    const Side<T>& other = *sides[1 - s];
    std::vector<std::string> done;
    for (const auto& region : mine.regions)
      for (const auto& text : region.profiles) {
        const auto name = text.substr(0, text.find('('));
        if (std::ranges::find(done, name) != done.end()) continue;
        done.push_back(name);
        for (const auto& predicted : search.predictions(name)) {
          const auto v = everything.values(predicted.order);
          if (!std::ranges::equal(v, other.values, [](T x, T y) { return same_bits(x, y); })) continue;
          report.advice.push_back(fmt::format("if {} is {}: {} gives the bits of {} (tried: replayed on these inputs)",
                                              mine.name, name, predicted.names.front(), other.name));
          break;
        }
      }
  }
  for (const SideReport& side : report.sides) {
    if (side.order.empty() || side.reproduced < p.elements()) continue;
    const auto& profiles = side.regions.front().profiles;
    const std::string& text = side.order.size() > 100 && !profiles.empty() ? profiles.front() : side.order;
    report.advice.push_back(
        fmt::format("samebits gemm A B -o C --order '{}' gives the bits of {} (tried: replayed, {} of {} elements)", text,
                    side.name, side.reproduced, p.elements()));
  }
  // What only the system itself can show.
  for (int s : {0, 1}) {
    const SideReport &mine = report.sides[s], &other = report.sides[1 - s];
    if (mine.order.find("tf32(") != std::string::npos && other.order.find("tf32(") == std::string::npos)
      report.advice.push_back(
          fmt::format("turn TF32 off where {} is made: allow_tf32 = False in PyTorch, use_tf32 = 0 in ONNX Runtime, "
                      "NVIDIA_TF32_OVERRIDE=0 (not tried)",
                      mine.name));
    if (mine.reproduced < p.elements() && !mine.outside)
      report.advice.push_back(fmt::format("samebits probe BACKEND -m {} -n {} -k {} asks the library behind {} (not tried)",
                                          p.m(), p.n(), p.k(), mine.name));
  }
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal:
      return "equal";
    case Verdict::explained:
      return "explained";
    case Verdict::ambiguous:
      return "ambiguous";
    case Verdict::unexplained:
      return "unexplained";
    case Verdict::outside_bound:
      break;
  }
  return "outside-bound";
}

template <class T>
Report explain(const Problem<T>& problem, const Side<T>& left, const Side<T>& right, const Options& options) {
  check(problem, left);
  check(problem, right);
  Report report;
  report.dtype = dtype_of<T> == DType::f32 ? "f32" : "f64";
  report.batch = problem.batch();
  report.m = problem.m(), report.n = problem.n(), report.k = problem.k();
  report.elements = problem.elements();
  const Index rows = problem.batch() * problem.m();
  const Comparison difference = compare(row_major<const T>(left.values.data(), rows, problem.n()),
                                        row_major<const T>(right.values.data(), rows, problem.n()));
  report.different = difference.different;
  report.max_ulp = difference.max_ulp;
  report.where = difference.where;

  Search<T> search(problem, left.format, options);
  std::unique_ptr<Search<T>> second;  // the result of the right side was rounded in another way
  if (right.format != left.format) second = std::make_unique<Search<T>>(problem, right.format, options);
  report.sides[0] = find_order(problem, left, search, options);
  report.sides[1] = find_order(problem, right, second ? *second : search, options);

  const auto any = [&](auto&& f) { return std::ranges::any_of(report.sides, f); };
  const auto all = [&](auto&& f) { return std::ranges::all_of(report.sides, f); };
  const auto reproduced = [&](const SideReport& s) { return s.reproduced == report.elements && !s.order.empty(); };
  if (difference.equal())
    report.verdict = Verdict::equal;
  else if (any([](const SideReport& s) { return s.outside; }))
    report.verdict = Verdict::outside_bound;
  else if (all([](const SideReport& s) { return s.explained; }))
    report.verdict = Verdict::explained;
  else
    report.verdict = all(reproduced) ? Verdict::ambiguous : Verdict::unexplained;

  std::vector<Index> different;
  for (Index e = 0; e < report.elements; ++e)
    if (!same_bits(left.values[e], right.values[e])) different.push_back(e);
  judge(problem, different, left, right, report);
  if (all(reproduced)) {
    const Order l = Order::parse(report.sides[0].order), r = Order::parse(report.sides[1].order);
    if (!difference.equal()) {
      if (options.progress) options.progress("naming the causes");
      report.factors = attribute(problem, l, r, options.threads);
    }
    if (options.element || !difference.equal()) {
      Index e = different.empty() ? 0 : different.front();
      if (options.element && (*options.element)[1] >= 0) {
        const auto [item, i, j] = *options.element;
        if (item < 0 || item >= report.batch || i >= report.m || j < 0 || j >= report.n)
          throw Error(Code::invalid_argument,
                      fmt::format("no element ({}, {}) in a {} x {} result", i, j, report.m, report.n));
        e = (item * report.m + i) * report.n + j;
      }
      if (report.elements > 0) report.trace = trace_element(problem, e, l, r, left.name, right.name);
    }
  }
  if (!difference.equal()) advise(problem, search, left, right, options, report);
  return report;
}

template Report explain(const Problem<float>&, const Side<float>&, const Side<float>&, const Options&);
template Report explain(const Problem<double>&, const Side<double>&, const Side<double>&, const Options&);

}  // namespace samebits::explain
