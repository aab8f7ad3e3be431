// y = alpha x + beta y on the CPU: the terms of a step of a chain other than the matrix product.
#include "core/recurrence.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

namespace {

constexpr int64 kChunk = 1 << 14;  // rows of a task

template <class T>
void rows_of_column(Scalar alpha, const T* x, Scalar beta, T* y, int64 first, int64 last) {
  const Update<T> update(alpha, beta);
  if (alpha == 0.0) {
    for (int64 i = first; i < last; ++i) y[i] = update.reads ? update.beta * y[i] : T{};
  } else {
    for (int64 i = first; i < last; ++i) update.one(y + i, x[i]);
  }
}

}  // namespace

void axpby(Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  const int64 chunks = (y.rows + kChunk - 1) / kChunk;
  with_value_type(y.dtype, [&]<class T>(T) {
    parallel_for(chunks * y.cols, y.rows * y.cols, [&](int64 task) {
      const int64 column = task / chunks, first = task % chunks * kChunk, last = std::min(y.rows, first + kChunk);
      rows_of_column(alpha, x.as<T>() + column * x.col_stride, beta, y.as<T>() + column * y.col_stride, first, last);
    });
  });
}

}  // namespace diagsparse
