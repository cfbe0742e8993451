// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "explain/compare.h"
#include "io/npy.h"

namespace samebits::io {
namespace {

using Bytes = std::vector<unsigned char>;

// A file as NumPy lays it out: magic, version, header padded to a multiple of 64, data.
Bytes file(const std::string& dict, const Bytes& data, int version = 1) {
  const std::size_t fixed = version == 1 ? 10 : 12;
  std::string header = dict;
  header.append(63 - (fixed + header.size()) % 64, ' ');
  header += '\n';
  Bytes out = {0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<unsigned char>(version), 0};
  for (std::size_t i = 0; i < fixed - 8; ++i) out.push_back(static_cast<unsigned char>(header.size() >> (8 * i)));
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

std::string dict(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

Array parse(const Bytes& bytes, std::optional<Stored> void16 = {}) {
  return parse_npy(bytes, "x.npy", void16);
}

// The message of the error, which must be Error(io).
std::string error(const Bytes& bytes, std::optional<Stored> void16 = {}) {
  try {
    parse(bytes, void16);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::io);
    return e.what();
  }
  return "no error";
}

template <class U>
Bytes bytes_of(std::initializer_list<U> values, bool big = false) {
  Bytes out;
  for (const U v : values)
    for (std::size_t i = 0; i < sizeof(U); ++i)
      out.push_back(static_cast<unsigned char>(v >> 8 * (big ? sizeof(U) - 1 - i : i)));
  return out;
}

TEST(Npy, FloatsInBothByteOrdersAndAllVersions) {
  const std::vector<float> want = {1, -2, 0.5f};
  for (int version = 1; version <= 3; ++version)
    for (const bool big : {false, true}) {
      const Array x = parse(file(dict(big ? ">f4" : "<f4", "(3,)"),
                                 bytes_of<std::uint32_t>({0x3f800000, 0xc0000000, 0x3f000000}, big), version));
      EXPECT_EQ(x.f32, want);
      EXPECT_EQ(x.shape, std::vector<Index>{3});
      EXPECT_EQ(x.dtype(), DType::f32);
    }
  const Array y =
      parse(file(dict(">f8", "(1, 2)"), bytes_of<std::uint64_t>({0x3ff8000000000000, 0xc000000000000000}, true)));
  EXPECT_EQ(y.f64, (std::vector<double>{1.5, -2}));
  EXPECT_EQ(y.dtype(), DType::f64);
}

TEST(Npy, HalfAndBfloat16) {
  const Array h = parse(
      file(dict("<f2", "(8,)"), bytes_of<std::uint16_t>({0x3c00, 0xc000, 0x0001, 0x8000, 0x7bff, 0x7c00, 0xfc00, 0x03ff})));
  const std::vector<float> want = {1, -2, 0x1p-24f, -0.0f, 65504, INFINITY, -INFINITY, 1023 * 0x1p-24f};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(explain::same_bits(h.f32[i], want[i])) << i;
  EXPECT_TRUE(std::isnan(parse(file(dict("<f2", "(1,)"), bytes_of<std::uint16_t>({0x7e00}))).f32[0]));

  const Bytes raw = file(dict("|V2", "(2,)"), bytes_of<std::uint16_t>({0x3f80, 0xc049}));
  EXPECT_EQ(parse(raw, Stored::bf16).f32, (std::vector<float>{1, -3.140625f}));
  EXPECT_NE(error(raw).find("descr: two raw bytes an element, perhaps bfloat16"), std::string::npos);
}

TEST(Npy, FortranOrderIsReadInCOrder) {
  // [[1, 2, 3], [4, 5, 6]] by columns.
  const Array x =
      parse(file(dict("<f4", "(2, 3)", true),
                 bytes_of<std::uint32_t>({0x3f800000, 0x40800000, 0x40000000, 0x40a00000, 0x40400000, 0x40c00000})));
  EXPECT_EQ(x.f32, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(x.fortran);
  EXPECT_EQ(parse(to_npy(x)).f32, x.f32);
  EXPECT_TRUE(parse(to_npy(x)).fortran);
}

TEST(Npy, ScalarsAndEmptyArrays) {
  EXPECT_EQ(parse(file(dict("<f4", "()"), bytes_of<std::uint32_t>({0x3f800000}))).f32, std::vector<float>{1});
  const Array x = parse(file(dict("<f8", "(3, 0, 2)"), {}));
  EXPECT_EQ(x.size(), 0);
  EXPECT_EQ(x.shape_text(), "(3, 0, 2)");
}

TEST(Npy, RoundTripsInEveryTypeAndOrder) {
  Array x;
  x.shape = {2, 3, 4};
  for (const Stored stored : {Stored::f16, Stored::bf16, Stored::f32, Stored::f64})
    for (const bool fortran : {false, true}) {
      x.stored = stored;
      x.fortran = fortran;
      x.f32.clear();
      x.f64.clear();
      for (int i = 0; i < 24; ++i) {
        const double v = i == 0 ? -0.0 : i == 1 ? INFINITY : i == 2 ? -0x1p-24 : (i - 12) * 0.25;
        stored == Stored::f64 ? x.f64.push_back(v) : x.f32.push_back(static_cast<float>(v));
      }
      const Array y = parse(to_npy(x), Stored::bf16);
      EXPECT_EQ(y.shape, x.shape);
      EXPECT_EQ(y.stored, stored);
      ASSERT_EQ(y.size(), 24);
      for (int i = 0; i < 24; ++i)
        EXPECT_TRUE(stored == Stored::f64 ? explain::same_bits(x.f64[i], y.f64[i]) : explain::same_bits(x.f32[i], y.f32[i]))
            << i;
    }
}

// Recorded by NumPy: what is read and written again is the same file.
TEST(Npy, WritesTheBytesThatNumPyWrites) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SAMEBITS_TEST_DATA "/cases")) {
    if (entry.path().extension() != ".npy") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(to_npy(read_npy(entry.path())), bytes) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 57);
}

TEST(Npy, ErrorsNameTheFileTheFieldAndWhatWasFound) {
  const Bytes one = bytes_of<std::uint32_t>({0x3f800000});
  const auto is = [](const std::string& message, const std::string& part) {
    EXPECT_EQ(message.rfind("x.npy: ", 0), 0u) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  is(error({}), "magic");
  is(error({'P', 'K', 3, 4, 0, 0, 0, 0}), "magic");
  is(error({0x93, 'N', 'U', 'M', 'P', 'Y', 9, 0}), "version: 1.0, 2.0 or 3.0 expected, found 9.0");
  is(error({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 200}), "header length: the file ends");
  is(error({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 200, 0, '{'}), "header length: 200 bytes announced, 1 left");
  is(error(file(dict("|O", "(1,)"), one)), "descr: Python objects are not read ('|O')");
  is(error(file(dict("<i4", "(1,)"), one)), "descr: only float16, bfloat16, float32 and float64 are read ('<i4')");
  is(error(file(dict("<c8", "(1,)"), one)), "('<c8')");
  is(error(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", one)), "descr: a structured type");
  is(error(file(dict("<f4", "(2,)"), one)), "data: (2,) of float32 needs 8 bytes, found 4");
  is(error(file(dict("<f4", "(1,)"), bytes_of<std::uint32_t>({0, 0}))), "data: (1,) of float32 needs 4 bytes, found 8");
  is(error(file(dict("<f4", "(4294967296, 4294967296)"), one)), "shape: (4294967296, 4294967296) overflows");
  is(error(file(dict("<f4", "(4294967296, 4294967296, 0)"), {})), "overflows");
  is(error(file(dict("<f8", "(1152921504606846975,)"), one)), "data");
  is(error(file(dict("<f8", "(9223372036854775807,)"), one)), "overflows");
  is(error(file(dict("<f4", "(99999999999999999999,)"), one)), "shape: a size exceeds 2^63 - 1");
  is(error(file(dict("<f4", "(-1,)"), one)), "shape: a size expected, found '-1,");
  is(error(file(dict("<f4", "(1)"), one)), "shape: ',' expected");
  is(error(file("{'descr': '<f4', 'shape': (1,), }", one)), "fortran_order: is missing");
  is(error(file("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", one)),
     "fortran_order: True or False expected, found 'Maybe");
  is(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1, }", one)), "unexpected key 'x'");
  is(error(file(dict("<f4", "(1,)") + "1", one)), "text after the dictionary");
  is(error(file("{'descr': '<f4", one)), "does not end");
}

TEST(Npy, EveryTruncationIsAnError) {
  const Bytes whole = file(dict("<f4", "(2, 3)"), Bytes(24));
  EXPECT_EQ(parse(whole).size(), 6);
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_NE(error(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))), "no error");
}

TEST(Npy, MissingFilesAndDirectories) {
  for (const char* path : {"/nonexistent/x.npy", "/"}) {
    try {
      read_npy(path);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::io);
      EXPECT_EQ(std::string(e.what()).rfind(path, 0), 0u);
    }
  }
  Array x;
  EXPECT_THROW(write_npy("/nonexistent/x.npy", x), Error);
}

TEST(Npy, FromMatrixCopiesInCOrder) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  const Array x = from_matrix<float>(MatrixView<const float>{data, 3, 2, 1, 3});
  EXPECT_EQ(x.f32, (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(x.shape, (std::vector<Index>{3, 2}));
}

}  // namespace
}  // namespace samebits::io
