// Sums of vectors on the CPU: y = alpha x + beta y, and the terms of a step of a chain other than the matrix product.
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

// Calls run(column, first, last) for all rows of all columns of y, in parallel.
template <class F>
void in_chunks(const Dense& y, const F& run) {
  const int64 chunks = (y.rows + kChunk - 1) / kChunk;
  parallel_for(chunks * y.cols, y.rows * y.cols, [&](int64 task) {
    const int64 first = task % chunks * kChunk;
    run(task / chunks, first, std::min(y.rows, first + kChunk));
  });
}

}  // namespace

void axpby(Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  with_value_type(y.dtype, [&]<class T>(T) {
    in_chunks(y, [&](int64 column, int64 first, int64 last) {
      rows_of_column(alpha, x.as<T>() + column * x.col_stride, beta, y.as<T>() + column * y.col_stride, first, last);
    });
  });
}

void finish_step(Scalar beta, const Dense& v, const Dense& next, Scalar c, const Dense& y) {
  with_value_type(next.dtype, [&]<class T>(T) {
    in_chunks(next, [&](int64 column, int64 first, int64 last) {
      const RestOfStep<T> rest(beta, c);
      const T* const before = v.as<T>() + column * v.col_stride;
      T *const after = next.as<T>() + column * next.col_stride, *const sum = y.as<T>() + column * y.col_stride;
      for (int64 i = first; i < last; ++i) rest.one(before + i, after + i, sum + i);
    });
  });
}

}  // namespace diagsparse
