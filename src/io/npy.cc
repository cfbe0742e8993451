// SPDX-License-Identifier: Apache-2.0
// Format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "io/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <string_view>

#include "reference/reference.h"

namespace samebits::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxDimensions = 64;  // NumPy's own limit

// At most 40 printable characters of what a file holds.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return text.size() > 40 ? out + "..." : out;
}

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<Index> shape;
};

// The header is a Python dict literal with three known keys; nothing else is accepted.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Header parse() {
    Header header;
    bool descr = false, fortran = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string("a key");
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        if (peek() == '[') fail("descr", "a structured type is not supported");
        header.descr = string("descr");
      } else if (key == "fortran_order" && !fortran) {
        fortran = true;
        header.fortran = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = tuple();
      } else {
        fail("header", fmt::format("unexpected key '{}'", shown(key)));
      }
      if (!accept(',') && peek() != '}') fail("header", fmt::format("',' or '}}' expected, found {}", found()));
    }
    if (peek() != '\0' || at_ != text_.size()) fail("header", fmt::format("text after the dictionary: {}", found()));
    if (!descr) fail("descr", "is missing");
    if (!fortran) fail("fortran_order", "is missing");
    if (!shape) fail("shape", "is missing");
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view field, const std::string& what) const {
    throw Error(Code::io, fmt::format("{}: {}: {}", file_, field, what));
  }
  std::string found() const { return at_ < text_.size() ? fmt::format("'{}'", shown(text_.substr(at_, 20))) : "the end"; }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail("header", fmt::format("'{}' expected, found {}", c, found()));
  }
  std::string string(std::string_view field) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(field, fmt::format("a string expected, found {}", found()));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail(field, "the string does not end");
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    fail("fortran_order", fmt::format("True or False expected, found {}", found()));
  }
  std::vector<Index> tuple() {
    std::vector<Index> values;
    expect('(');
    while (!accept(')')) {
      if (peek() < '0' || peek() > '9') fail("shape", fmt::format("a size expected, found {}", found()));
      Index value = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
        if (__builtin_mul_overflow(value, Index{10}, &value) ||
            __builtin_add_overflow(value, Index{text_[at_] - '0'}, &value))
          fail("shape", "a size exceeds 2^63 - 1");
      values.push_back(value);
      if (values.size() > kMaxDimensions) fail("shape", fmt::format("more than {} dimensions", kMaxDimensions));
      accept('L');                                                // written by Python 2
      if (!accept(',') && (peek() != ')' || values.size() == 1))  // (5) is not a tuple
        fail("shape", fmt::format("',' expected, found {}", found()));
    }
    return values;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

struct Element {
  Stored type;
  std::size_t size;
  bool swap;
};

Element element(const std::string& descr, std::optional<Stored> void16, const std::string& file) {
  const auto fail = [&](const std::string& what) -> Element {
    throw Error(Code::io, fmt::format("{}: descr: {} ('{}')", file, what, shown(descr)));
  };
  const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const std::string type = descr.substr(has_order ? 1 : 0);
  const bool big = has_order && descr[0] == '>';
  const bool swap = big == (std::endian::native == std::endian::little);
  if (type == "f2") return {Stored::f16, 2, swap};
  if (type == "f4") return {Stored::f32, 4, swap};
  if (type == "f8") return {Stored::f64, 8, swap};
  if (type == "V2") {
    if (!void16) return fail("two raw bytes an element, perhaps bfloat16: the type must be given");
    if (*void16 != Stored::f16 && *void16 != Stored::bf16) return fail(name(*void16) + " does not fit two bytes");
    return {*void16, 2, swap};
  }
  if (type.starts_with('O')) return fail("Python objects are not read");
  return fail("only float16, bfloat16, float32 and float64 are read");
}

float half_to_float(std::uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  std::uint32_t bits;
  if (exponent == 31)
    bits = 0x7f800000u | fraction << 13;
  else if (exponent)
    bits = (exponent + 112) << 23 | fraction << 13;
  else
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
  return std::bit_cast<float>(bits | (h & 0x8000u) << 16);
}

// x is a float16 value.
std::uint16_t float_to_half(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint16_t sign = bits >> 16 & 0x8000;
  const int exponent = static_cast<int>(bits >> 23 & 255) - 112;
  if (exponent == 143) return sign | 0x7c00 | (bits >> 13 & 1023);
  if (exponent > 0) return sign | exponent << 10 | (bits >> 13 & 1023);
  return sign | static_cast<std::uint16_t>((x < 0 ? -x : x) * 0x1p24f);
}

// Position in Fortran order of each element in C order, in turn.
template <class Visit>
void for_each_fortran_position(const std::vector<Index>& shape, Index size, Visit visit) {
  std::vector<Index> index(shape.size()), stride(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * shape[d - 1];
  Index at = 0;
  for (Index i = 0; i < size; ++i) {
    visit(i, at);
    for (std::size_t d = shape.size(); d-- > 0;) {
      at += stride[d];
      if (++index[d] < shape[d]) break;
      at -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
}

template <class T>
void to_c_order(const std::vector<Index>& shape, std::vector<T>& x) {
  std::vector<T> c(x.size());
  for_each_fortran_position(shape, std::ssize(x), [&](Index i, Index at) { c[i] = x[at]; });
  x = std::move(c);
}

template <class U>
U load(const unsigned char* p, bool swap) {
  unsigned char bytes[sizeof(U)];
  std::memcpy(bytes, p, sizeof(U));
  if (swap) std::reverse(bytes, bytes + sizeof(U));
  return std::bit_cast<U>(bytes);
}

}  // namespace

std::string name(Stored type) {
  switch (type) {
    case Stored::f16:
      return "float16";
    case Stored::bf16:
      return "bfloat16";
    case Stored::f32:
      return "float32";
    case Stored::f64:
      break;
  }
  return "float64";
}

std::string Array::shape_text() const {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Array parse_npy(std::span<const unsigned char> bytes, const std::string& file, std::optional<Stored> void16) {
  const auto fail = [&](std::string_view field, const std::string& what) {
    throw Error(Code::io, fmt::format("{}: {}: {}", file, field, what));
  };
  if (bytes.size() < kMagic.size() || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    fail("magic", "not a .npy file (it does not begin with \\x93NUMPY)");
  if (bytes.size() < 8) fail("version", "the file ends before it");
  const int major = bytes[6], minor = bytes[7];
  if (major < 1 || major > 3 || minor != 0)
    fail("version", fmt::format("1.0, 2.0 or 3.0 expected, found {}.{}", major, minor));
  const std::size_t width = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + width) fail("header length", "the file ends before it");
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i) length |= static_cast<std::size_t>(bytes[8 + i]) << (8 * i);
  bytes = bytes.subspan(8 + width);
  if (length > bytes.size()) fail("header length", fmt::format("{} bytes announced, {} left", length, bytes.size()));
  const Header header = HeaderParser({reinterpret_cast<const char*>(bytes.data()), length}, file).parse();
  bytes = bytes.subspan(length);

  Array array;
  array.shape = header.shape;
  array.fortran = header.fortran;
  const Element e = element(header.descr, void16, file);
  array.stored = e.type;
  // Sizes are multiplied without the zeros first: (2^62, 2^62, 0) is as wrong as without the 0.
  Index count = 1;
  for (const Index n : header.shape)
    if (n != 0 && __builtin_mul_overflow(count, n, &count)) fail("shape", fmt::format("{} overflows", array.shape_text()));
  Index expected;
  if (__builtin_mul_overflow(count, static_cast<Index>(e.size), &expected))
    fail("shape", fmt::format("{} overflows", array.shape_text()));
  if (std::ranges::count(header.shape, 0)) count = expected = 0;
  if (static_cast<std::size_t>(expected) != bytes.size())
    fail("data", fmt::format("{} of {} needs {} bytes, found {}", array.shape_text(), name(e.type), expected, bytes.size()));

  const unsigned char* p = bytes.data();
  if (e.type == Stored::f64) {
    array.f64.resize(count);
    for (Index i = 0; i < count; ++i) array.f64[i] = std::bit_cast<double>(load<std::uint64_t>(p + 8 * i, e.swap));
    if (header.fortran) to_c_order(array.shape, array.f64);
    return array;
  }
  array.f32.resize(count);
  for (Index i = 0; i < count; ++i) {
    if (e.type == Stored::f32)
      array.f32[i] = std::bit_cast<float>(load<std::uint32_t>(p + 4 * i, e.swap));
    else if (e.type == Stored::f16)
      array.f32[i] = half_to_float(load<std::uint16_t>(p + 2 * i, e.swap));
    else
      array.f32[i] = std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(p + 2 * i, e.swap)) << 16);
  }
  if (header.fortran) to_c_order(array.shape, array.f32);
  return array;
}

Array read_npy(const std::filesystem::path& path, std::optional<Stored> void16) {
  const auto fail = [&](const char* what) { throw Error(Code::io, fmt::format("{}: {}", path.string(), what)); };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail("is a directory");
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot be opened");
  std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) fail("cannot be read");
  return parse_npy(bytes, path.string(), void16);
}

std::vector<unsigned char> to_npy(const Array& array) {
  static constexpr const char* kDescr[] = {"<f2", "<V2", "<f4", "<f8"};
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", kDescr[static_cast<int>(array.stored)],
                  array.fortran ? "True" : "False", array.shape_text());
  constexpr std::size_t kAlign = 64, kFixed = 10;
  header.append(kAlign - (kFixed + header.size() + 1) % kAlign, ' ');
  header += '\n';
  std::string head(kMagic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, header.size() & 255, header.size() >> 8})
    head += static_cast<char>(byte);
  head += header;
  std::vector<unsigned char> out(head.begin(), head.end());

  const std::size_t size = array.stored == Stored::f64 ? 8 : array.stored == Stored::f32 ? 4 : 2, start = out.size();
  out.resize(start + size * array.size());
  const auto store = [&](Index i, Index at) {
    const std::uint64_t bits = array.stored == Stored::f64   ? std::bit_cast<std::uint64_t>(array.f64[i])
                               : array.stored == Stored::f32 ? std::bit_cast<std::uint32_t>(array.f32[i])
                               : array.stored == Stored::f16 ? float_to_half(array.f32[i])
                                                             : std::bit_cast<std::uint32_t>(array.f32[i]) >> 16;
    for (std::size_t byte = 0; byte < size; ++byte) out[start + size * at + byte] = bits >> (8 * byte) & 255;
  };
  if (array.fortran)
    for_each_fortran_position(array.shape, array.size(), store);
  else
    for (Index i = 0; i < array.size(); ++i) store(i, i);
  return out;
}

void write_npy(const std::filesystem::path& path, const Array& array) {
  const std::vector<unsigned char> bytes = to_npy(array);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  out.close();
  if (!out) throw Error(Code::io, fmt::format("{}: cannot be written", path.string()));
}

template <class T>
Array from_matrix(MatrixView<const T> x) {
  Array array;
  array.shape = {x.rows, x.cols};
  array.stored = sizeof(T) == 8 ? Stored::f64 : Stored::f32;
  std::vector<T> data;
  data.reserve(x.rows * x.cols);
  for (Index i = 0; i < x.rows; ++i)
    for (Index j = 0; j < x.cols; ++j) data.push_back(x(i, j));
  if constexpr (sizeof(T) == 8)
    array.f64 = std::move(data);
  else
    array.f32 = std::move(data);
  return array;
}
template Array from_matrix(MatrixView<const float>);
template Array from_matrix(MatrixView<const double>);

}  // namespace samebits::io
