// A typed run of memory on this module's device, and who keeps it alive.
#pragma once

#include <memory>
#include <new>

#include "core/types.hpp"

namespace diagsparse {

// Memory of the device that this module serves; defined in memory.cpp (CPU) and memory.cu (CUDA).
std::shared_ptr<void> allocate(int64 bytes);
void fill_zero(void* data, int64 bytes);

// One or two extents; columns == -1 marks a flat array.
struct Shape {
  int64 rows = 0, cols = -1;

  int64 size() const { return cols < 0 ? rows : rows * cols; }
};

struct Array {
  void* data = nullptr;
  DType dtype = DType::f64;
  Shape shape;
  std::shared_ptr<const void> owner;  // the allocation, the layout, or the Python object whose memory this is
  bool writeable = true;

  int64 size() const { return shape.size(); }
  int64 nbytes() const { return size() * item_size(dtype); }

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
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
    return a;
  }
  static Array zeros(DType dtype, Shape shape) {
    Array a = empty(dtype, shape);
    fill_zero(a.data, a.nbytes());
    return a;
  }
};

// A dense vector (cols == 1) or block that a kernel reads or writes; strides count elements.
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

}  // namespace diagsparse
