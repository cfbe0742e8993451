// SPDX-License-Identifier: Apache-2.0
// Arrays in NumPy's .npy format, versions 1 to 3: float16, bfloat16, float32, float64, either byte order, C or Fortran
// order.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "samebits/error.h"
#include "samebits/matrix.h"

namespace samebits::io {

enum class Stored : std::uint8_t { f16, bf16, f32, f64 };
std::string name(Stored type);  // "float16", ...

struct Array {
  std::vector<Index> shape;  // empty: a scalar, one element
  Stored stored = Stored::f32;
  bool fortran = false;     // in the file; `f32` and `f64` are always in C order
  std::vector<float> f32;   // the elements unless stored is f64 (exact for f16 and bf16)
  std::vector<double> f64;  // the elements if stored is f64

  DType dtype() const { return stored == Stored::f64 ? DType::f64 : DType::f32; }
  Index size() const { return static_cast<Index>(dtype() == DType::f64 ? f64.size() : f32.size()); }
  // "(2, 3, 5)"
  std::string shape_text() const;
};

// Reads a file that nobody vouches for. `void16` tells what two-byte raw elements ('V2') are: NumPy writes bfloat16 so;
// without it they are an error, as is every other type. Errors are Error(io) and name the file, the field and what was
// found.
Array read_npy(const std::filesystem::path& path, std::optional<Stored> void16 = {});
// The same from memory; `name` stands for the file in messages.
Array parse_npy(std::span<const unsigned char> bytes, const std::string& name, std::optional<Stored> void16 = {});

// The file as bytes, in the type `array.stored` (values must be exact in it) and, if `array.fortran`, in Fortran order.
std::vector<unsigned char> to_npy(const Array& array);
void write_npy(const std::filesystem::path& path, const Array& array);

// A matrix as an array of its type, C order.
template <class T>
Array from_matrix(MatrixView<const T> x);

}  // namespace samebits::io
