// The kernels of qband on the CPU.
#include "formats/qband.hpp"

#include "cpu/rest_rows.hpp"
#include "kernels/each_set/diagonal_kernels.hpp"
#include "kernels/entry_sums.hpp"
#include "kernels/quasi_bands.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Kernel "row_tiles" of y = alpha op(A) x + beta y: the bands by the kernel of dia of this name, block by block of
// rows, and to each block while it is in the caches what the rest has in its rows. So y is written to memory once. A
// transpose gathers too, by an index of its rows that is kept with A.
template <class U, class V>
struct QuasiBandMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    static const MatvecThen row_tiles = matvec_row_tiles_then()(dtype_of<U>(), dtype_of<V>());
    const QuasiBand a(*m.structure, op);
    const Rest rest{*rows_of_rest(a), m.values.as<U>() + a.rest_first, op.conjugated, alpha, x, y};
    row_tiles(bands_of(m), op, alpha, x, beta, y, {&Rest::add, &rest, a.entries()});
  }

 private:
  struct Rest {
    const RowsOfRest& rows;
    const U* values;
    bool conj;
    Scalar alpha;
    const Dense &x, &y;

    static void add(const void* rest, int64 first, int64 last) {
      const Rest& r = *static_cast<const Rest*>(rest);
      const Update<T> update(r.alpha, 1.0);
      const int64* const begin = r.rows.pointers();
      if (begin[first] == begin[last]) return;
      for (int64 c = 0; c < r.x.cols; ++c) {
        const V* const in = r.x.template as<V>() + c * r.x.col_stride;
        T* const out = r.y.template as<T>() + c * r.y.col_stride;
        const int64 step = r.x.row_stride;
        for (int64 i = first; i < last; ++i) {
          if (begin[i] == begin[i + 1]) continue;
          T sum{};
          for (int64 e = begin[i]; e < begin[i + 1]; ++e) {
            const U value = conjugate_if(r.conj, r.values[r.rows.place(e)]);
            sum += multiply(value, in[r.rows.column()[e] * step]);
          }
          update.one(out + i * r.y.row_stride, sum);
        }
      }
    }
  };
};

void prepare(const Matrix& m, Op op) { rows_of_rest(QuasiBand(*m.structure, op)); }

FormatKernels make() {
  return {{{"row_tiles", every_pair<QuasiBandMatvec, MatvecKernel>(), prepare}},
          {multiply_quasi_bands_by_rows(), multiply_quasi_bands_by_segments()}};
}
const RegisterKernels registered("qband", kIsa, make);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
