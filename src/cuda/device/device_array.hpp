// An array on the GPU for Python: a strided view that keeps its memory alive, and the arithmetic for element-wise
// operations of matrices.
#pragma once

#include <string>
#include <vector>

#include "device/cuda.hpp"

namespace diagsparse::cuda {

struct DeviceArray {
  char* data = nullptr;
  DType dtype = DType::f64;
  std::vector<int64> shape, strides;  // strides are in elements
  int device = 0;
  std::shared_ptr<const void> owner;
  bool writeable = true;
  std::string why{};  // it is not writeable, for errors; may be empty

  int ndim() const { return static_cast<int>(shape.size()); }
  int64 size() const {
    int64 n = 1;
    for (const int64 extent : shape) n *= extent;
    return n;
  }
  int64 nbytes() const { return size() * item_size(dtype); }
  bool contiguous() const;  // whether it is contiguous in C order
  Dense dense() const;      // requires one or two dimensions
  Array array() const;      // requires a contiguous array

  static DeviceArray of(const Array& array);
  static DeviceArray empty(DType dtype, std::vector<int64> shape, bool c_order = true);
};

// to = from, element by element, in the type of `to`; `from` may have strides of 0. Complex values are not converted to
// real.
void assign(const DeviceArray& from, const DeviceArray& to);

enum class Map { negative, absolute, conjugate, multiply, divide, power };
// f(a[i], s) for a contiguous array; only `absolute` changes the type (complex to real).
DeviceArray map(Map f, const DeviceArray& a, Scalar s);
void fill(const DeviceArray& a, Scalar value);                              // requires a contiguous array
void add_scaled(const DeviceArray& a, Scalar beta, const DeviceArray& to);  // to = a + beta to; requires contiguous
                                                                            // arrays
bool any(const DeviceArray& a);                                             // contiguous; waits for the result

}  // namespace diagsparse::cuda
