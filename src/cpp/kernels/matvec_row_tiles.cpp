// Kernel "row_tiles" of dia, hm and cdm: y = alpha op(A) x + beta y, by tiles of rows in registers.
//
//   A: m x n, D diagonals.  x: n, or n x k.  y: m, or m x k.  Bytes at least: A + x + y, once each.
//
// A thread takes blocks of rows. In a block, a few diagonals at a time: the hardware prefetchers follow
// about a dozen streams, so more diagonals than that are taken in groups, with the block of y in cache.
// Blocks, groups and tiles depend on the matrix alone: the same bits for any number of threads.
// A block x in C order (contiguous rows) is multiplied row by row, in F order by columns; other strides
// are gathered first.
#include <vector>

#include "cpu/parallel.hpp"
#include "kernels/diagonal_kernels.hpp"
#include "kernels/row_major.hpp"
#include "kernels/row_tiles.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kBlockRows = 8192;

template <class U, class V>
struct MatvecRowTiles {
  using T = Product<U, V>;

  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Sums sums = matvec_sums(spans_of(*a.layout, op), y.rows);
    if (y.cols > 1 && x.col_stride == 1 && y.col_stride == 1) {
      row_major(sums, a.values.as<U>(), op.conjugated, alpha, x, beta, y);
    } else {
      columns(sums, a.values.as<U>(), op.conjugated, alpha, x, beta, y);
    }
  }

 private:
  template <class F>
  static void by_blocks(const Sums& sums, int64 rows, int64 cols, const F& f) {
    parallel_for((rows + kBlockRows - 1) / kBlockRows, sums.work * cols, [&](int64 block) {
      const int64 first = block * kBlockRows, last = std::min(rows, first + kBlockRows);
      const auto [begin, end] = terms_in(sums.terms, first, last);
      f(begin, end, first, last);
    });
  }

  static void columns(const Sums& sums, const U* u, bool conj, Scalar alpha, const Dense& x, Scalar beta,
                      const Dense& y) {
    by_blocks(sums, y.rows, x.cols, [&](const Term* begin, const Term* end, int64 first, int64 last) {
      const Term* t = begin;
      do {
        const Term* group_end = std::min(end, t + kGroup);
        Streams<U, V> s(u, conj, x.as<V>(), false, y.as<T>(), Update<T>(alpha, t == begin ? beta : 1.0));
        s.v_stride = x.col_stride;
        s.out_stride = y.col_stride;
        int64 c = 0;
        for (; c + 4 <= x.cols; c += 4) run_columns<4>(s, x, y, c, t, group_end, first, last);
        for (; c + 2 <= x.cols; c += 2) run_columns<2>(s, x, y, c, t, group_end, first, last);
        for (; c < x.cols; ++c) run_columns<1>(s, x, y, c, t, group_end, first, last);
        t = group_end;
      } while (t < end);
    });
  }

  template <int K>
  static void run_columns(Streams<U, V>& s, const Dense& x, const Dense& y, int64 c, const Term* begin, const Term* end,
                          int64 first, int64 last) {
    s.v = x.as<V>() + c * x.col_stride;
    s.out = y.as<T>() + c * y.col_stride;
    RowTiles<U, V, K>::run(s, begin, end, first, last);
  }

  static void row_major(const Sums& sums, const U* u, bool conj, Scalar alpha, const Dense& x, Scalar beta,
                        const Dense& y) {
    const RowMajor<U, V> kernel{u, x.as<V>(), y.as<T>(), x.row_stride, y.row_stride, conj, Update<T>(alpha, beta)};
    by_blocks(sums, y.rows, x.cols, [&](const Term* begin, const Term* end, int64 first, int64 last) {
      kernel.run(begin, end, first, last, x.cols);
    });
  }
};

}  // namespace

Typed<MatvecKernel> matvec_row_tiles() { return every_pair<MatvecRowTiles, MatvecKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
