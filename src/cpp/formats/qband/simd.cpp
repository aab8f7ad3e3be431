// The kernels of qband on the CPU.
#include "formats/qband/cpu_kernels.hpp"
#include "formats/qband/layout.hpp"
#include "formats/qband/rest_rows.hpp"
#include "kernels/entry_sums.hpp"
#include "kernels/simd/diagonal_kernels.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Kernel "row_tiles" of y = alpha op(A) x + beta y. The kernel of dia with this name multiplies the bands, one block of
// rows at a time, and the products of the rest are added to each block while it is in the caches, so that y is written
// to memory once. A transpose is gathered, too, with an index of its rows that is cached with A.
template <class U, class V>
struct QuasiBandMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    static const MatvecThen row_tiles = matvec_row_tiles_then()(dtype_of<U>(), dtype_of<V>());
    const QuasiBand a(*m.structure, op);
    const Rest rest{*rows_of_rest(a), m.values.as<U>() + a.rest_first, op.conjugated, alpha, x, y};
    row_tiles(bands_of(m), op, alpha, x, beta, y, {&Rest::add, &rest, rest.rows.pointers()});
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
      const int64* const order = r.rows.order.data ? r.rows.order.as<int64>() : nullptr;
      const Update<T> update(r.alpha, 1.0);
      const int64 x_step = r.x.row_stride, y_step = r.y.row_stride;
      for (int64 c = 0; c < r.x.cols; ++c) {
        const V* const in = r.x.template as<V>() + c * r.x.col_stride;
        T* const out = r.y.template as<T>() + c * r.y.col_stride;
        const auto product = [=, conj = r.conj](const U& value, int64 j) {
          return multiply(conjugate_if(conj, value), in[j * x_step]);
        };
        const auto put = [=, &update](int64 i, T sum) {
          T* const to = out + i * y_step;
          if (update.add) *to += sum;
          else update.one(to, sum);
        };
        if (order) {
          const auto at_position = [=, values = r.values](int64 position, int64 j) {
            return product(values[position], j);
          };
          sum_rows(r.rows, first, last, order, at_position, put);
        } else {
          sum_rows(r.rows, first, last, r.values, product, put);
        }
      }
    }

    // Calls put(i, sum) with sums of product(factors[e], column) that add up to row i. There is one sum for each row,
    // or one for each entry if all rows are so short that the ends of their loops would be mispredicted.
    template <class W, class Multiply, class Put>
    [[gnu::always_inline]] static void sum_rows(const RowsOfRest& rows, int64 first, int64 last, const W* factors,
                                                const Multiply& product, const Put& put) {
      constexpr int64 kShort = 3, kLongest = 24;  // entries of a row, on average and at most
      const int64* const begin = rows.pointers();
      const std::int32_t* const column = rows.column();
      if (rows.longest <= kLongest && begin[last] - begin[first] <= kShort * (last - first)) {
        for (int64 e = begin[first]; e < begin[last]; ++e) put(rows.row()[e], product(factors[e], column[e]));
        return;
      }
      for (int64 i = first; i < last; ++i) {
        const int64 e = begin[i], count = begin[i + 1] - e;
        if (count > 0) put(i, sum_entries<T>(column + e, factors + e, count, product));
      }
    }
  };
};

void prepare(const Matrix& m, Op op) { rows_of_rest(QuasiBand(*m.structure, op)); }

FormatKernels kernel_table() {
  return {{{"row_tiles", every_pair<QuasiBandMatvec, MatvecKernel>(), prepare}},
          {multiply_quasi_bands_by_rows(), multiply_quasi_bands_by_segments()}};
}
const RegisterKernels registered("qband", kIsa, kernel_table);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
