// SPDX-License-Identifier: Apache-2.0
#include "cpu/schedule.h"

#include <algorithm>

namespace samebits::cpu {
namespace {

Step::Start start_of(Run::Start start) {
  switch (start) {
    case Run::Start::zero:
      return Step::Start::zero;
    case Run::Start::negative_zero:
      return Step::Start::negative_zero;
    case Run::Start::c:
      return Step::Start::seed;
    case Run::Start::resume:
      break;
  }
  return Step::Start::resume;
}

// A place where a block may end: before position `offset` of run `run`, with `kept` tiles alive.
struct Cut {
  std::size_t run = 0;
  std::uint32_t offset = 0;
  std::uint32_t kept = 0;
};

class Scheduler {
 public:
  Scheduler(const Program& program, std::uint32_t kc, bool packed, std::span<const std::uint32_t> piece_ends)
      : p_(program), kc_(std::max<std::uint32_t>(kc, 2)), packed_(packed), piece_ends_(piece_ends) {}

  Schedule make() {
    Cut at;
    while (emit(at, next(at)), at.run < p_.runs.size()) {
    }
    return std::move(out_);
  }

 private:
  std::uint32_t position(const Cut& c) const { return c.run < p_.runs.size() ? p_.runs[c.run].begin + c.offset : p_.k; }

  // The best end of a block that begins at `from`, when the stack then has stack_ entries.
  Cut next(const Cut& from) const {
    const std::uint64_t begin = position(from), end = begin + kc_;
    if (end >= p_.k) return {p_.runs.size(), 0, 0};
    Cut best{from.run, 0, 0xffffffff};
    std::uint32_t stack = stack_;
    for (std::size_t r = from.run; r < p_.runs.size(); ++r) {
      const Run& run = p_.runs[r];
      const std::uint64_t first = r == from.run ? begin : run.begin, last = std::uint64_t{run.begin} + run.length;
      if (last > end) {
        // Inside the run: its tile is alive.
        if (end > first && stack + 1 <= best.kept) best = {r, static_cast<std::uint32_t>(end - run.begin), stack + 1};
        break;
      }
      stack = stack - run.merges + (run.push ? 1 : 0);
      const bool in_registers = r + 1 < p_.runs.size() && p_.runs[r + 1].start == Run::Start::resume;
      const std::uint32_t kept = stack + (in_registers ? 1 : 0);
      if (2 * (last - begin) >= kc_ && kept <= best.kept) best = {r + 1, 0, kept};
    }
    return best;
  }

  void emit(Cut& at, const Cut& to) {
    Block block;
    block.begin = position(at);
    block.end = position(to);
    block.first_step = static_cast<std::uint32_t>(out_.steps.size());
    block.entries = stack_ + (kept_tile_ ? 1 : 0);
    for (std::size_t r = at.run; r < p_.runs.size() && (r < to.run || (r == to.run && to.offset > 0)); ++r) {
      const Run& run = p_.runs[r];
      const std::uint32_t from = r == at.run ? at.offset : 0;
      const bool whole = r < to.run;
      Step s;
      s.length = (whole ? run.length : to.offset) - from;
      s.merges = whole ? run.merges : 0;
      s.push = whole ? run.push : false;
      s.mul = run.op == Op::mul;
      s.start = from > 0 ? Step::Start::resume : start_of(run.start);
      if (kept_tile_) {
        s.start = Step::Start::pop;
        kept_tile_ = false;
      }
      if (s.length > 0) {
        const std::uint32_t p = run.begin + from;
        if (packed_) {
          s.first = p - block.begin;
        } else {
          s.first = p_.permutation[p];
          s.stride = s.length > 1 ? static_cast<std::int32_t>(p_.permutation[p + 1] - p_.permutation[p]) : 1;
        }
      }
      block.seeded |= s.start == Step::Start::seed;
      out_.depth = std::max(out_.depth, stack_ + 1);
      stack_ = stack_ - s.merges + (s.push ? 1 : 0);
      out_.steps.push_back(s);
      if (whole && out_.piece_ends.size() < piece_ends_.size() &&
          piece_ends_[out_.piece_ends.size()] == run.begin + run.length)
        out_.piece_ends.push_back(static_cast<std::uint32_t>(out_.steps.size()));
    }
    // A tile that the next block goes on with is kept as one more entry.
    if (to.run < p_.runs.size() && to.kept > stack_) {
      out_.steps.back().push = true;
      kept_tile_ = true;
    }
    if (to.run < p_.runs.size()) out_.kept_entries = std::max(out_.kept_entries, to.kept);
    block.steps = static_cast<std::uint32_t>(out_.steps.size()) - block.first_step;
    out_.blocks.push_back(block);
    at = to;
  }

  const Program& p_;
  const std::uint32_t kc_;
  const bool packed_;
  const std::span<const std::uint32_t> piece_ends_;
  Schedule out_;
  std::uint32_t stack_ = 0;
  bool kept_tile_ = false;  // the last block ended with a tile in registers
};

}  // namespace

Schedule make_schedule(const Program& program, std::uint32_t kc, bool packed, std::span<const std::uint32_t> piece_ends) {
  return Scheduler(program, kc, packed, piece_ends).make();
}

bool constant_strides(const Program& program) {
  return std::ranges::all_of(program.runs, [&](const Run& run) {
    const std::uint32_t* k = program.permutation.data() + run.begin;
    for (std::uint32_t i = 1; i < run.length; ++i) {
      if (k[i] - k[i - 1] != k[1] - k[0]) return false;  // modulo 2^32: strides may be negative
    }
    return true;
  });
}

}  // namespace samebits::cpu
