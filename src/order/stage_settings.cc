// SPDX-License-Identifier: Apache-2.0
// Settings of the whole order: rounding of the inputs, epilogue, rounding of the result.
#include <fmt/format.h>

#include "order/stage.h"

namespace samebits::order {
namespace {

constexpr std::string_view format_names[] = {"none", "tf32", "bf16", "fp16"};

class Input final : public Stage {
 public:
  InputRounding value;

  std::string text() const override {
    CallText call(format_names[static_cast<int>(value.format)]);
    constexpr std::string_view rounding[] = {"rne", "rna", "rz", "rz"};
    call.word(rounding[static_cast<int>(value.rounding)]);
    if (value.rounding == Rounding::rz_raw) call.word("raw");
    return call.str();
  }
  std::string describe() const override {
    constexpr std::string_view how[] = {"to nearest even", "to nearest, ties away", "toward zero", "by cutting bits"};
    return fmt::format("inputs rounded to {} {}", format_names[static_cast<int>(value.format)],
                       how[static_cast<int>(value.rounding)]);
  }
  void apply(Settings& settings) const override { settings.input = value; }
};

std::shared_ptr<const Stage> parse_tf32(Scanner& in, const Left&) {
  auto stage = std::make_shared<Input>();
  stage->value.format = Format::tf32;
  in.expect('(');
  constexpr Rounding rounding[] = {Rounding::rne, Rounding::rna, Rounding::rz};
  stage->value.rounding = rounding[in.choose({"rne", "rna", "rz"})];
  if (stage->value.rounding == Rounding::rz && in.accept(',')) {
    in.choose({"raw"});
    stage->value.rounding = Rounding::rz_raw;
  }
  in.expect(')');
  return stage;
}

template <Format format>
std::shared_ptr<const Stage> parse_half(Scanner& in, const Left&) {
  auto stage = std::make_shared<Input>();
  stage->value.format = format;
  if (in.accept('(')) {
    in.choose({"rne"});
    in.expect(')');
  }
  return stage;
}

class EpilogueStage final : public Stage {
 public:
  Epilogue value;

  std::string text() const override {
    if (value == Epilogue{}) return "";
    CallText call("epilogue");
    if (value.alpha != Epilogue::Alpha::end) call.option("alpha", value.alpha == Epilogue::Alpha::a ? "a" : "block");
    if (value.c != Epilogue::C::last) call.option("c", value.c == Epilogue::C::first ? "first" : "seed");
    if (value.fused) call.word("fused");
    return call.str();
  }
  std::string describe() const override {
    constexpr std::string_view alpha[] = {"alpha at the end", "alpha on each piece", "alpha on A"};
    constexpr std::string_view c[] = {"C added last", "C first", "C as the start of the first chain"};
    return fmt::format("{}, {}{}", alpha[static_cast<int>(value.alpha)], c[static_cast<int>(value.c)],
                       value.fused ? ", scaled and added by one fma" : "");
  }
  void apply(Settings& settings) const override { settings.epilogue = value; }
};

std::shared_ptr<const Stage> parse_epilogue(Scanner& in, const Left&) {
  auto stage = std::make_shared<EpilogueStage>();
  in.expect('(');
  for (Options o(in, {"alpha=", "c=", "fused"}, true); o.next();) {
    if (o.index() == 0) stage->value.alpha = static_cast<Epilogue::Alpha>(in.choose({"end", "block", "a"}));
    if (o.index() == 1) stage->value.c = static_cast<Epilogue::C>(in.choose({"last", "first", "seed"}));
    if (o.index() == 2) stage->value.fused = true;
  }
  return stage;
}

class Out final : public Stage {
 public:
  Format format = Format::none;

  std::string text() const override { return CallText("out").word(format_names[static_cast<int>(format)]).str(); }
  std::string describe() const override {
    return fmt::format("the result rounded to {}", format_names[static_cast<int>(format)]);
  }
  void apply(Settings& settings) const override { settings.out = format; }
};

std::shared_ptr<const Stage> parse_out(Scanner& in, const Left&) {
  auto stage = std::make_shared<Out>();
  in.expect('(');
  stage->format = in.choose({"fp16", "bf16"}) == 0 ? Format::fp16 : Format::bf16;
  in.expect(')');
  return stage;
}

constexpr StageWord words[] = {
    {"out", Rank::out, parse_out, "out(fp16 | bf16)", "the result is rounded (to nearest even) after the epilogue"},
    {"epilogue", Rank::epilogue, parse_epilogue, "epilogue(alpha=end|block|a, c=last|first|seed, fused)",
     "where alpha and C enter: C <- alpha*A*B + beta*C + bias"},
    {"tf32", Rank::input, parse_tf32, "tf32(rna | rne | rz | rz, raw)", "A and B are rounded to TF32"},
    {"bf16", Rank::input, parse_half<Format::bf16>, "bf16(rne)", "A and B are rounded to bfloat16"},
    {"fp16", Rank::input, parse_half<Format::fp16>, "fp16(rne)", "A and B are rounded to half precision"},
};

}  // namespace

std::span<const StageWord> stages_settings() {
  return words;
}

}  // namespace samebits::order
