// A typed array in the memory of this module's device, together with the object that owns the memory.
#pragma once

#include <memory>
#include <new>

#include "core/backend.hpp"

namespace diagsparse {

// One or two extents; cols == -1 marks a one-dimensional array.
struct Shape {
  int64 rows = 0, cols = -1;

  int64 size() const { return cols < 0 ? rows : rows * cols; }
  bool operator==(const Shape&) const = default;
};

struct Array {
  void* data = nullptr;
  DType dtype = DType::f64;
  Shape shape;
  std::shared_ptr<const void> owner;  // the allocation, the layout or the Python object that owns the memory
  bool writeable = true;
  int device = 0;        // index of the GPU that the memory is on; 0 on the CPU
  bool on_host = false;  // labels are in host memory even if the values are on a GPU

  int64 size() const { return shape.size(); }
  int64 nbytes() const { return size() * item_size(dtype); }

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }

  // A view of consecutive elements.
  Array slice(int64 first, Shape part) const {
    Array a = *this;
    a.data = static_cast<char*>(data) + first * item_size(dtype);
    a.shape = part;
    return a;
  }

  static Array empty(DType dtype, Shape shape) {
    Array a;
    a.dtype = dtype;
    a.shape = shape;
    int64 bytes = 0;
    if (__builtin_mul_overflow(a.size(), item_size(dtype), &bytes)) throw std::bad_alloc();
    const std::shared_ptr<void> memory = allocate(bytes);
    a.data = memory.get();
    a.owner = memory;
    a.device = current_device();
    return a;
  }
  static Array zeros(DType dtype, Shape shape) {
    Array a = empty(dtype, shape);
    fill_zero(a.data, {{0, a.nbytes()}});
    return a;
  }
};

// Copies a host vector to this module's device; reads one element of an array.
template <class T>
Array array_of(const std::vector<T>& items) {
  Array result = Array::empty(dtype_of<T>(), {static_cast<int64>(items.size())});
  copy_from_host(result.data, items.data(), result.nbytes());
  return result;
}
template <class T>
T element(const Array& array, int64 at) {
  T value;
  copy_to_host(&value, array.as<T>() + at, sizeof value);
  return value;
}

// A dense vector (cols == 1) or block that a kernel reads or writes; strides are in elements.
struct Dense {
  void* data;
  DType dtype;
  int64 rows, cols;
  int64 row_stride, col_stride;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// All elements of an array as one vector.
inline Dense flat(const Array& a) { return {a.data, a.dtype, a.size(), 1, 1, a.size()}; }

// Whether two blocks may share memory, that is, whether the ranges from their first to their last element overlap.
bool overlap(const Dense& x, const Dense& y);
bool overlap(const Dense& x, const Array& y);
bool overlap(const Array& x, const Array& y);

}  // namespace diagsparse
