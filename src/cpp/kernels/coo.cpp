// The kernel of coo on the CPU.
#include "formats/coo.hpp"

#include <algorithm>

#include "core/kernel_table.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

namespace {

// Kernel "entry": y = alpha op(A) x + beta y, entry after entry. Entries lie row by row, so for op = N tasks are
// runs of whole rows; for op = T they are ranges of columns, and every task reads all entries. Each y[i] sums in
// the order of the entries, whatever the number of threads.
template <class U, class V>
struct CooMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Coo<U> a = Coo<U>::of(m);
    const std::int32_t *to = op.transposed ? a.col : a.row, *from = op.transposed ? a.row : a.col;
    const int64 tasks = a.count * x.cols < kSerialWork ? 1 : concurrent_tasks();
    const Factor<T> scale(alpha);
    const Update<T> update(0.0, beta);
    const bool plain = alpha == 1.0 && !op.conjugated && x.row_stride == 1 && y.row_stride == 1;
    parallel_for(tasks, a.count * x.cols, [&](int64 task) {
      const int64 low = y.rows * task / tasks, high = y.rows * (task + 1) / tasks;
      const int64 begin = op.transposed ? 0 : std::lower_bound(to, to + a.count, low) - to;
      const int64 end = op.transposed ? a.count : std::lower_bound(to, to + a.count, high) - to;
      for (int64 c = 0; c < x.cols; ++c) {
        T* out = y.as<T>() + c * y.col_stride;
        const V* in = x.as<V>() + c * x.col_stride;
        for (int64 i = low; i < high; ++i) update.one(out + i * y.row_stride, T{});
        if (plain && !op.transposed) {
          for (int64 e = begin; e < end;) {  // a row's sum stays in a register
            const std::int32_t row = to[e];
            T sum = out[row];
            for (; e < end && to[e] == row; ++e) sum += multiply(a.values[e], in[from[e]]);
            out[row] = sum;
          }
          continue;
        }
        for (int64 e = begin; e < end; ++e) {
          if (op.transposed && (to[e] < low || to[e] >= high)) continue;
          if (plain) {
            out[to[e]] += multiply(a.values[e], in[from[e]]);
            continue;
          }
          const U value = conjugate_if(op.conjugated, a.values[e]);
          out[to[e] * y.row_stride] += scale * multiply(value, in[from[e] * x.row_stride]);
        }
      }
    });
  }
};

FormatKernels make() { return {{{"entry", every_pair<CooMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("coo", kEverySet, make);

}  // namespace

}  // namespace diagsparse
