// SPDX-License-Identifier: Apache-2.0
// The list of kernels, the choice of an instruction set, and the cutting of programs into blocks.
#include <cstdlib>

#include "cpu/problem.h"
#include "cpu/registry.h"
#include "cpu/schedule.h"

namespace samebits::test {
namespace {

TEST(Kernels, TheListTellsTheTiles) {
  for (const cpu::Isa& isa : cpu::isas()) {
    if (!isa.built || !isa.supported) continue;
    const auto& f32 = cpu::kernel_set<float>(isa.name);
    const auto& f64 = cpu::kernel_set<double>(isa.name);
    EXPECT_EQ(isa.name, f32.isa);
    EXPECT_EQ(isa.f32.rows, f32.rows);
    EXPECT_EQ(isa.f32.columns, f32.columns());
    EXPECT_EQ(isa.f64.rows, f64.rows);
    EXPECT_EQ(isa.f64.columns, f64.columns());
  }
  EXPECT_TRUE(cpu::isas()[0].name == "portable" && cpu::isas()[0].supported);
}

TEST(Kernels, APlanNamesItsKernel) {
  const auto name = [](const char* order, const std::string& isa) {
    return Plan<float>(Order::parse(order), 8, 8, 8, {.isa = isa}).kernel();
  };
  EXPECT_EQ(name("fma", "portable"), "sgemm_portable_4x8_fma");
  EXPECT_EQ(name("chunks(4) > mul", "portable"), "sgemm_portable_4x8_mul");
  EXPECT_EQ(name("f64 > fma", "portable"), "dgemm_portable_4x8_fma");
  EXPECT_EQ(name("split(2) > f64 > fma", "portable"), "dgemm_portable_4x8_fma");
  EXPECT_EQ(name("epilogue(alpha=block, c=first) > chunks(3) > fma", "portable"), "sgemm_portable_4x8_fma");
  EXPECT_EQ(name("lanes(3, fold=left, tail=sum, tailop=f64mul) > fma", ""), "reference (mixed precision)");
  EXPECT_EQ(name("f64 > mul(round=f32)", ""), "reference (mixed precision)");
  EXPECT_EQ(name("exact", ""), "reference (exact)");
  EXPECT_EQ(name("tf32(rna) > mma(4,24)", ""), "reference (mma)");
  EXPECT_EQ(name("fma", "reference"), "reference");
  EXPECT_EQ(name("regions(rows=0:2: mul; rest: fma)", "portable"), "sgemm_portable_4x8_fma, sgemm_portable_4x8_mul");
}

TEST(Kernels, UnknownInstructionSets) {
  try {
    const Plan<float> plan(Order{}, 2, 2, 2, {.isa = "sse9"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_NE(std::string(error.what()).find("portable"), std::string::npos) << error.what();
  }
  setenv("SAMEBITS_ISA", "nonsense", 1);
  EXPECT_THROW(Plan<float>(Order{}, 2, 2, 2), Error);
  setenv("SAMEBITS_ISA", "portable", 1);
  EXPECT_EQ(Plan<float>(Order{}, 2, 2, 2).kernel(), "sgemm_portable_4x8_fma");
  unsetenv("SAMEBITS_ISA");
}

// Walks the blocks: positions are covered once and in order, the stack balances, kept tiles suffice.
TEST(Schedule, BlocksCoverTheProgram) {
  for (const char* order :
       {"fma", "chunks(7) > fma", "pairwise(4) > mul", "lanes(8, fold=pairs, tail=sum) > fma", "split(5) > chunks(6) > fma"})
    for (const std::uint32_t k : {1u, 2u, 31u, 100u, 257u})
      for (const std::uint32_t kc : {2u, 5u, 16u, 64u, 1000u}) {
        const Program program = compile(Order::parse(order).tree(k));
        const cpu::Schedule s = cpu::make_schedule(program, kc, true);
        std::uint32_t position = 0, stack = 0;
        for (std::size_t b = 0; b < s.blocks.size(); ++b) {
          const cpu::Block& block = s.blocks[b];
          EXPECT_EQ(block.begin, position);
          EXPECT_LE(block.end - block.begin, std::max(kc, 2u));
          EXPECT_EQ(block.entries, stack);
          EXPECT_LE(stack, s.kept_entries);
          for (std::uint32_t i = 0; i < block.steps; ++i) {
            const cpu::Step& step = s.steps[block.first_step + i];
            if (step.start == cpu::Step::Start::pop) --stack;
            if (step.length > 0) {
              EXPECT_EQ(step.first, position - block.begin);
            }
            position += step.length;
            ASSERT_GE(stack, step.merges);
            stack = stack - step.merges + (step.push ? 1 : 0);
            EXPECT_LE(stack, s.depth);
          }
          EXPECT_EQ(block.end, position);
        }
        EXPECT_EQ(position, k);
        EXPECT_EQ(stack, 0u);
      }
}

}  // namespace
}  // namespace samebits::test
