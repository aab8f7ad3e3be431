// Sampled products of mdia: C[i, i + k] = sum over p of X[i, p] Y[i + k, p] for the stored elements of its diagonals k.
//
//   C: m x n masked diagonals, both triangles, without a palette.  X: m x p.  Y: n x p.  Minimum traffic in bytes:
//   X + Y + C, once each.
//
// A thread processes blocks of 32 rows, one diagonal after another, whose values are consecutive. Diagonals without a
// gap in a block are written as vectors.
#include "cpu/parallel.hpp"
#include "formats/mdia/simd_gather.hpp"
#include "kernels/simd/sampled_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

template <class T, class>
struct SampledMasks {
  static void run(const Dense& in_x, const Dense& in_y, Matrix& c) {
    const auto to = Mdia<T>::of(c);
    const DenseRows<T> x(in_x), y(in_y);
    T* const values = c.values.as<T>();
    const int64 work = work_before(to, to.blocks()), tasks = tasks_for(work);
    const auto before = [&](int64 b) { return work_before(to, b); };
    const bool vectors = x.length == 1 && x.step == 1 && y.step == 1;
    parallel_for(tasks, work * std::max<int64>(1, x.length), [&](int64 task) {
      const int64 first = border(to.blocks(), work, tasks, task, before);
      const int64 last = border(to.blocks(), work, tasks, task + 1, before);
      for (int64 b = first; b < last; ++b) {
        const int64 row = kMaskRows * b;
        T* value = values + to.begin[b];
        for_each_mask(to, b, [&](int64 d, Mask rows) {
          const int64 column = row + to.offsets[d];
          if (vectors && rows == kAllRows) {
            const T *const left = x[row], *const right = y[column];
            for (int i = 0; i < kMaskRows; ++i) value[i] = product(left[i], right[i]);
            value += kMaskRows;
          } else {
            for_each_row(rows, [&](int i) { *value++ = row_product(x[row + i], y[column + i], x.length); });
          }
        });
      }
    });
  }
};

const RegisterSampled registered("mdia", kIsa, &one_type<SampledMasks, SampledKernel>);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
