// SPDX-License-Identifier: Apache-2.0
#include "explain/regions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include "explain/compare.h"

namespace samebits::explain {
namespace {

constexpr std::size_t most_owners = 24;
constexpr std::size_t most_candidates = 64;

// All where there are few, else the ends densely and the middle thinly.
std::vector<Index> sampled(Index n, Index most) {
  std::set<Index> s;
  if (n <= most) most = n;
  const Index ends = most / 3;
  for (Index i = 0; i < ends; ++i) s.insert({i, n - 1 - i});
  for (Index i = 0; std::ssize(s) < most && i < n; ++i) s.insert(most == n ? i : (i * 7919 + n / 2) % n);
  return {s.begin(), s.end()};
}

struct Box {
  Range rows, cols;
  std::size_t owner = 0;
};

struct Cover {
  bool across = false;  // intervals of rows in parts of the columns
  std::vector<Box> boxes{};
  Index uncovered = 0;
  auto cost() const { return std::pair(uncovered, boxes.size()); }
};

// Where an order agrees with the side, over the whole product; all matrices of a batch at once.
using Map = std::vector<std::uint8_t>;

Index length(const Range& r) {
  return r.end <= r.begin ? 0 : (r.end - r.begin + r.step - 1) / r.step;
}

// Intervals of columns for one set of rows (or, `across`, of rows for one set of columns).
void cover_part(const std::vector<Map>& maps, Index m, Index n, const Range& part, bool across, Cover& cover) {
  const Index lines = across ? m : n;
  std::vector<std::vector<std::uint8_t>> whole(maps.size(), std::vector<std::uint8_t>(lines, 1));
  for (std::size_t o = 0; o < maps.size(); ++o)
    for (Index l = 0; l < lines; ++l)
      for (Index p = part.begin; p < part.end && whole[o][l]; p += part.step)
        whole[o][l] = across ? maps[o][l * n + p] : maps[o][p * n + l];
  for (Index l = 0; l < lines;) {
    Index best = 0;
    std::size_t owner = 0;
    for (std::size_t o = 0; o < maps.size(); ++o) {
      Index end = l;
      while (end < lines && whole[o][end]) ++end;
      if (end - l > best) best = end - l, owner = o;
    }
    if (best == 0) {
      cover.uncovered += length(part);
      ++l;
      continue;
    }
    const Range run{l, l + best, 1};
    cover.boxes.push_back(across ? Box{run, part, owner} : Box{part, run, owner});
    l += best;
  }
}

std::vector<std::vector<Range>> partitions(Index n) {
  std::vector<std::vector<Range>> list = {{{0, n, 1}}};
  for (Index r = 2; r <= 16 && 2 * r <= n; ++r) {
    std::vector<Range> classes;
    for (Index s = 0; s < r; ++s) classes.push_back({s, n, r});
    list.push_back(classes);
  }
  std::set<Index> cuts;
  for (Index x = 1; x < n; ++x)
    if (n <= 64 || x <= 16 || n - x <= 16 || x == n / 2) cuts.insert(x);
  for (Index r : {2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128})
    if (n - n % r > 0 && n % r) cuts.insert(n - n % r);
  for (Index x : cuts) list.push_back({{0, x, 1}, {x, n, 1}});
  return list;
}

}  // namespace

template <class T>
std::vector<RegionReport> regions(Search<T>& search, const std::vector<T>& values, const Options& options) {
  const Problem<T>& problem = search.problem();
  const auto& list = search.tried();
  const Index m = problem.m(), n = problem.n(), k = std::max<Index>(1, problem.k()), batch = problem.batch();
  if (options.progress) options.progress("looking for regions");

  // 1. Orders that own a structured set of the sampled elements (the half that chooses).
  const Index budget = std::clamp<Index>(1'500'000'000 / (std::ssize(list) * k), 64, 1024);
  Index most_rows = std::min<Index>({m, 32, std::max<Index>(1, std::lround(std::sqrt(static_cast<double>(budget))))});
  const Index most_cols = std::min<Index>({n, 64, std::max<Index>(1, budget / most_rows)});
  most_rows = std::min<Index>({m, 64, std::max<Index>(1, budget / most_cols)});
  const auto rows = sampled(m, most_rows), cols = sampled(n, most_cols);
  const Replay<T> grid(problem, {0}, rows, cols);
  using Mask = std::uint64_t;
  const auto size = static_cast<std::size_t>(grid.size());
  const auto row_of = [&](std::size_t g) { return g / cols.size(); };
  const auto col_of = [&](std::size_t g) { return g % cols.size(); };

  struct Half {  // for one orientation: masks over one axis for each line of the other
    std::vector<Mask> chosen;
    std::vector<std::pair<Range, Mask>> sets;
  };
  const auto half = [&](bool across) {
    const auto& axis = across ? cols : rows;
    const auto& lines = across ? rows : cols;
    const Index extent = across ? n : m;
    Half h{std::vector<Mask>(lines.size()), {}};
    for (std::size_t g = 0; g < size; ++g)
      if (!held_back(grid.element(static_cast<Index>(g)))) {
        if (across)
          h.chosen[row_of(g)] |= Mask{1} << col_of(g);
        else
          h.chosen[col_of(g)] |= Mask{1} << row_of(g);
      }
    const auto add = [&](Range r) {
      Mask mask = 0;
      for (std::size_t i = 0; i < axis.size(); ++i)
        if (r.contains(axis[i])) mask |= Mask{1} << i;
      if (mask) h.sets.emplace_back(r, mask);
    };
    add({0, extent, 1});
    for (Index r = 2; r <= 16; ++r)
      for (Index s = 0; s < r && 2 * r <= extent; ++s) add({s, extent, r});
    for (std::size_t i = 1; i < axis.size(); ++i) add({0, axis[i], 1}), add({axis[i], extent, 1});
    return h;
  };
  const Half down = half(false), along = half(true);

  // The most chosen elements in neighbouring lines of one set where all are right; `known` ones are not counted.
  const auto longest = [](const Half& h, const std::vector<Mask>& right, const std::vector<Mask>* known = nullptr) {
    Index best = 0;
    for (const auto& [range, mask] : h.sets) {
      Index run = 0;
      for (std::size_t l = 0; l < right.size(); ++l) {
        const Mask wanted = h.chosen[l] & mask;
        run = (right[l] & wanted) == wanted ? run + __builtin_popcountll(known ? wanted & ~(*known)[l] : wanted) : 0;
        best = std::max(best, run);
      }
    }
    return best;
  };

  std::vector<Index> score(list.size());
  std::vector<std::vector<Mask>> by_col(list.size()), by_row(list.size());
  std::vector<double> agreeing(list.size());
  std::vector<std::vector<std::uint8_t>> matches(list.size());
  parallel_for(list.size(), options.threads, [&](std::size_t c) {
    std::vector<T> v;
    try {
      v = grid.values(list[c].order);
    } catch (const Error&) {
      return;
    }
    auto& match = matches[c];
    match.resize(size);
    by_col[c].resize(cols.size());
    by_row[c].resize(rows.size());
    Index same = 0, looked = 0;
    for (std::size_t g = 0; g < size; ++g) {
      const Index e = grid.element(static_cast<Index>(g));
      match[g] = same_bits(v[g], values[e]);
      if (held_back(e)) continue;
      ++looked;
      if (!match[g]) continue;
      ++same;
      by_col[c][col_of(g)] |= Mask{1} << row_of(g);
      by_row[c][row_of(g)] |= Mask{1} << col_of(g);
    }
    agreeing[c] = looked ? static_cast<double>(same) / static_cast<double>(looked) : 0;
    score[c] = std::max(longest(down, by_col[c]), longest(along, by_row[c]));
  });

  double p = 0;
  for (double a : agreeing) p += a / static_cast<double>(list.size());
  p = std::clamp(p, 0.02, 0.999);
  const double sets = static_cast<double>(down.sets.size() + along.sets.size());
  const auto least = static_cast<Index>(std::ceil(std::log(static_cast<double>(list.size()) * sets) / -std::log(p)));
  std::vector<std::size_t> owners;
  for (std::size_t c = 0; c < list.size(); ++c)
    if (score[c] >= least) owners.push_back(c);
  std::stable_sort(owners.begin(), owners.end(), [&](auto x, auto y) { return score[x] > score[y]; });
  // Near relatives of the commonest order are right almost everywhere: whoever adds most comes first, they come last.
  std::vector<Mask> known_col(cols.size()), known_row(rows.size());
  for (std::size_t x = 0; x < std::min(owners.size(), most_owners); ++x) {
    std::vector<Index> gain(owners.size());
    parallel_for(owners.size() - x, options.threads, [&](std::size_t y) {
      const std::size_t c = owners[x + y];
      gain[x + y] = std::max(longest(down, by_col[c], &known_col), longest(along, by_row[c], &known_row));
    });
    const auto most = std::max_element(gain.begin() + static_cast<std::ptrdiff_t>(x), gain.end()) - gain.begin();
    if (gain[static_cast<std::size_t>(most)] == 0) break;
    const std::size_t c = owners[static_cast<std::size_t>(most)];
    std::rotate(owners.begin() + static_cast<std::ptrdiff_t>(x), owners.begin() + most, owners.begin() + most + 1);
    for (std::size_t l = 0; l < cols.size(); ++l) known_col[l] |= by_col[c][l];
    for (std::size_t l = 0; l < rows.size(); ++l) known_row[l] |= by_row[c][l];
  }
  if (owners.size() > most_owners) owners.resize(most_owners);
  const Index tried = std::ssize(list);
  RegionReport nothing{.rows = {0, m, 1}, .cols = {0, n, 1}, .elements = problem.elements(), .tried = tried};
  if (owners.empty()) return {nothing};

  // 2. Where they agree, everywhere.
  const Replay<T> everything(problem, options.threads);
  const auto map_of = [&](std::size_t c) {
    const auto v = everything.values(list[c].order);
    Map map(m * n, 1);
    for (Index e = 0; e < std::ssize(values); ++e) map[e % (m * n)] &= same_bits(v[e], values[e]);
    return map;
  };
  std::vector<Map> maps;
  for (std::size_t c : owners) maps.push_back(map_of(c));

  // 3. The partition that leaves least uncovered, then the one with the fewest regions. Others as good may put a border
  // elsewhere: those elements are not decided.
  std::vector<Cover> best;
  constexpr auto none = std::numeric_limits<std::size_t>::max();
  const auto owner_map = [&](const Cover& cover) {
    std::vector<std::size_t> map(m * n, none);
    for (const Box& b : cover.boxes)
      for (Index i = b.rows.begin; i < b.rows.end; i += b.rows.step)
        for (Index j = b.cols.begin; j < b.cols.end; j += b.cols.step) map[i * n + j] = b.owner;
    return map;
  };
  // Luck: any of those tried, or a near relative of the true order, which shows in how often it agrees elsewhere.
  const double structures = 64.0 * static_cast<double>(m + n), relatives = static_cast<double>(owners.size());
  const auto luck = [&](std::size_t owner, const auto& inside, Index orders, std::size_t intervals) {
    Index count = 0, beyond = 0, agrees = 0;
    for (Index e = 0; e < m * n; ++e)
      if (inside(e / n, e % n))
        count += batch;
      else
        ++beyond, agrees += maps[owner][e];
    const double q = std::max(p, (static_cast<double>(agrees) + 1) / (static_cast<double>(beyond) + 2));
    return std::pow(structures, static_cast<double>(intervals)) *
           std::max(static_cast<double>(orders) * std::pow(p, static_cast<double>(count)),
                    relatives * std::pow(q, static_cast<double>(count)));
  };
  std::vector<std::size_t> chosen;
  for (bool doubtful = true; doubtful;) {
    best.clear();
    const auto consider = [&](const std::vector<Range>& parts, bool across) {
      Cover cover{.across = across};
      for (const Range& part : parts) cover_part(maps, m, n, part, across, cover);
      if (!best.empty() && cover.cost() > best.front().cost()) return;
      if (!best.empty() && cover.cost() < best.front().cost()) best.clear();
      best.push_back(std::move(cover));
    };
    for (const auto& parts : partitions(m)) consider(parts, false);
    for (const auto& parts : partitions(n)) consider(parts, true);
    chosen = owner_map(best.front());
    const bool across = best.front().across;
    // Owners whose elements, all together, could be luck are left out, and the rest is covered again.
    doubtful = false;
    for (std::size_t o = owners.size(); o-- > 0;) {
      std::set<std::pair<Index, Index>> intervals;  // one in every class of rows or columns counts once
      for (const Box& b : best.front().boxes)
        if (b.owner == o) intervals.emplace(across ? b.rows.begin : b.cols.begin, across ? b.rows.end : b.cols.end);
      const auto owned = [&](Index i, Index j) { return chosen[i * n + j] == o; };
      if (intervals.empty() || luck(o, owned, tried, intervals.size()) <= chance_limit) continue;
      doubtful = true;
      owners.erase(owners.begin() + static_cast<std::ptrdiff_t>(o));
      maps.erase(maps.begin() + static_cast<std::ptrdiff_t>(o));
      break;
    }
    if (owners.empty()) return {nothing};
  }
  std::vector<std::uint8_t> undecided(m * n);
  for (std::size_t other = 1; other < best.size(); ++other) {
    const auto map = owner_map(best[other]);
    for (Index e = 0; e < m * n; ++e) undecided[e] |= map[e] != chosen[e];
  }
  // A border may also move along its interval while the next order holds there too.
  const auto& boxes = best.front().boxes;
  for (std::size_t x = 0; x + 1 < boxes.size(); ++x) {
    const Box &left = boxes[x], &right = boxes[x + 1];
    const bool beside = left.rows == right.rows && left.cols.end == right.cols.begin;
    const bool below = left.cols == right.cols && left.rows.end == right.rows.begin;
    if (!beside && !below) continue;
    const Box last = beside ? Box{left.rows, {left.cols.end - 1, left.cols.end, 1}}
                            : Box{{left.rows.end - 1, left.rows.end, 1}, left.cols};
    bool also = true;
    for (Index i = last.rows.begin; i < last.rows.end; i += last.rows.step)
      for (Index j = last.cols.begin; j < last.cols.end; j += last.cols.step) also &= maps[right.owner][i * n + j] != 0;
    for (Index i = last.rows.begin; also && i < last.rows.end; i += last.rows.step)
      for (Index j = last.cols.begin; j < last.cols.end; j += last.cols.step) undecided[i * n + j] = 1;
  }
  // Next to elements that no order owns, an order may hold on a few lines more by luck.
  for (const Box& box : boxes) {
    Index missing = 0, agrees = 0;
    for (Index e = 0; e < m * n; ++e)
      if (chosen[e] == none) ++missing, agrees += maps[box.owner][e];
    if (missing == 0) break;
    const double q = std::max(p, (static_cast<double>(agrees) + 1) / (static_cast<double>(missing) + 2));
    for (const bool down : {true, false}) {
      const Range &along = down ? box.cols : box.rows, &across = down ? box.rows : box.cols;
      if (across.step != 1) continue;
      const auto at = [&](Index line, Index x) { return down ? line * n + x : x * n + line; };
      for (const Index beyond : {across.begin - 1, across.end}) {
        bool open = false;
        for (Index x = along.begin; x < along.end && beyond >= 0 && beyond < (down ? m : n); x += along.step)
          open |= chosen[at(beyond, x)] == none;
        double chance = open ? 1 : 0;
        for (Index t = 1; t <= length(across); ++t) {
          chance *= std::pow(q, static_cast<double>(length(along) * batch));
          if (chance <= chance_limit) break;
          for (Index x = along.begin; x < along.end; x += along.step)
            undecided[at(beyond < across.begin ? beyond + t : beyond - t, x)] = 1;
        }
      }
    }
  }

  // 4. Each region: which other orders reproduce it, and could this be luck?
  std::vector<RegionReport> out;
  for (const Box& box : boxes) {
    RegionReport r{.rows = box.rows, .cols = box.cols, .order = list[owners[box.owner]].order.text(), .tried = tried};
    r.elements = length(box.rows) * length(box.cols) * batch;
    const auto inside = [&](Index i, Index j) { return box.rows.contains(i) && box.cols.contains(j); };
    std::vector<std::size_t> alive;
    for (std::size_t c = 0; c < list.size(); ++c) {
      bool fits = !matches[c].empty();
      for (std::size_t g = 0; g < size && fits; ++g)
        if (inside(rows[row_of(g)], cols[col_of(g)])) fits = matches[c][g];
      if (fits) alive.push_back(c);
    }
    if (alive.size() <= most_candidates) {
      for (std::size_t c : alive) {
        const auto known = std::find(owners.begin(), owners.end(), c);
        const Map map = known != owners.end() ? maps[known - owners.begin()] : map_of(c);
        bool fits = true;
        for (Index i = box.rows.begin; i < box.rows.end; i += box.rows.step)
          for (Index j = box.cols.begin; j < box.cols.end; j += box.cols.step) fits &= map[i * n + j] != 0;
        if (!fits) continue;
        ++r.candidates;
        if (c != owners[box.owner] && r.others.size() < 4) r.others.push_back(list[c].order.text());
      }
    } else {
      r.candidates = std::ssize(alive);
      for (std::size_t c : alive)
        if (c != owners[box.owner] && r.others.size() < 4) r.others.push_back(list[c].order.text());
    }
    std::vector<std::uint8_t> ignored(values.size(), 1);
    bool decided = true;
    for (Index i = box.rows.begin; i < box.rows.end; i += box.rows.step)
      for (Index j = box.cols.begin; j < box.cols.end; j += box.cols.step) {
        decided &= !undecided[i * n + j];
        for (Index item = 0; item < batch; ++item) ignored[(item * m + i) * n + j] = 0;
      }
    const Index trees = search.trees_that_fit(values, ignored);
    r.tried += search.tree_count();
    r.candidates = std::max(r.candidates, trees);
    const double chance = luck(box.owner, inside, r.tried, 1);
    r.identified =
        r.candidates == 1 && decided && chance <= chance_limit && !search.near_exact(list[owners[box.owner]].order);
    if (!decided) r.candidates = std::max<Index>(r.candidates, 2);
    if (!r.others.empty()) r.probe = search.probe(list[owners[box.owner]].order, Order::parse(r.others.front()));
    out.push_back(std::move(r));
  }
  if (best.front().uncovered) {
    nothing.elements = best.front().uncovered * batch;
    out.push_back(nothing);
  }
  return out;
}

template std::vector<RegionReport> regions(Search<float>&, const std::vector<float>&, const Options&);
template std::vector<RegionReport> regions(Search<double>&, const std::vector<double>&, const Options&);

}  // namespace samebits::explain
