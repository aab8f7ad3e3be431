// Transposed products of formats that store rows, on the CPU.
#pragma once

#include "core/kernel_table.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

// y = alpha op(A) x + beta y, where entries lie in no order of y's elements: every task owns a stretch of y, passes
// over all entries and takes those that fall into it. Each y[j] sums in the order of the entries, whatever the number
// of tasks.
//
// walk(take) calls take(i, j, value) for every stored A[i, j], always in the same order, and checkpoint() now and then.
// U, V: the types of A and x; `stored` of the values lie in the matrix. op(A) is A^T or A^H.
template <class U, class V, class Walk>
void scatter(int64 stored, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y, const Walk& walk) {
  using T = Product<U, V>;
  const int64 tasks = stored * x.cols < kSerialWork ? 1 : concurrent_tasks();
  const Factor<T> scale(alpha);
  const Update<T> update(0.0, beta);
  parallel_for(tasks, stored * x.cols, [&](int64 task) {
    const int64 low = y.rows * task / tasks, high = y.rows * (task + 1) / tasks;
    for (int64 c = 0; c < x.cols; ++c) {
      const V* in = x.as<V>() + c * x.col_stride;
      T* out = y.as<T>() + c * y.col_stride;
      for (int64 j = low; j < high; ++j) update.one(out + j * y.row_stride, T{});
      walk([&](int64 i, int64 j, const U& value) {
        if (j < low || j >= high) return;
        out[j * y.row_stride] += scale * multiply(conjugate_if(conj, value), in[i * x.row_stride]);
      });
    }
  });
}

}  // namespace diagsparse
