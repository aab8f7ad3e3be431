// Sampled products of bmsparse: C[i, j] = sum over p of X[i, p] Y[j, p] for the stored elements of its blocks.
//
//   C: m x n in blocks of 8 x 8.  X: m x p.  Y: n x p.  Minimum traffic in bytes: X + Y + C, once each.
//
// A thread processes rows of blocks with equal work. The values of a block are consecutive.
#include "cpu/parallel.hpp"
#include "formats/bmsparse/layout.hpp"
#include "kernels/simd/sampled_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

template <class T, class>
struct SampledBlocks {
  static void run(const Dense& in_x, const Dense& in_y, Matrix& c) {
    const auto to = Bmsparse<T>::of(c);
    const DenseRows<T> x(in_x), y(in_y);
    T* const values = c.values.as<T>();
    const int64 rows = tiles_along(c.rows), work = to.count() + 8 * to.indptr[rows] + rows, tasks = tasks_for(work);
    const auto before = [&](int64 i) { return to.begin[to.indptr[i]] + 8 * to.indptr[i] + i; };
    parallel_for(tasks, work * std::max<int64>(1, x.length), [&](int64 task) {
      const int64 first = border(rows, work, tasks, task, before), last = border(rows, work, tasks, task + 1, before);
      for (int64 i = first; i < last; ++i) {
        for (int64 b = to.indptr[i]; b < to.indptr[i + 1]; ++b) {
          const int64 row = kTile * i, column = kTile * to.col[b];
          T* value = values + to.begin[b];
          for (Bitmap remaining = to.bitmap[b]; remaining != 0;) {
            const int position = std::countl_zero(remaining);
            remaining &= ~bit_of(position);
            *value++ = row_product(x[row + position / kTile], y[column + position % kTile], x.length);
          }
        }
      }
    });
  }
};

const RegisterSampled registered("bmsparse", kIsa, &one_type<SampledBlocks, SampledKernel>);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
