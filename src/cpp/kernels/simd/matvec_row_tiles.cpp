// Kernel "row_tiles" of dia, hm and cdm: y = alpha op(A) x + beta y, by tiles of rows in registers.
//
//   A: m x n, D diagonals.  x: n, or n x k.  y: m, or m x k.  Minimum traffic in bytes: A + x + y, once each.
//
// A thread processes blocks of rows with equal work. Within a block, a few diagonals are processed at a time: the
// hardware prefetchers follow about a dozen streams, so more diagonals are divided into groups, and the sums of some
// rows are kept in the caches from one group to the next. Each row adds its terms in the order of their offsets, so it
// has the same bits for any number of threads, and in any matrix with these terms. Packed layouts are read directly: in
// symmetric storage, the opposite diagonal is a second term with the same values; in a layout with a period, the rows
// between two wraps are read like those of a full layout. A block x in C order (contiguous rows) is multiplied row by
// row, in F order column by column; other strides are gathered first.
#include <limits>
#include <vector>

#include "cpu/parallel.hpp"
#include "kernels/simd/diagonal_kernels.hpp"
#include "kernels/simd/row_major.hpp"
#include "kernels/simd/row_tiles.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kRepeatedRows = 2048;  // for short periods: rows of repeated copies that stay in cache

// Divides the rows into blocks of equal work, which depend on the matrix only. before[i] is the number of other
// multiply-adds before row i; null means none.
class Blocks {
 public:
  Blocks(int64 rows, int64 of_diagonals, const int64* before)
      : rows_(rows),
        work_per_row_(of_diagonals / std::max<int64>(1, rows) + 1),
        before_(before),
        work_(work_before(rows)) {
    count_ = (rows + kRows - 1) / kRows;
    if (work_ >= kSerialWork) count_ = std::max(count_, kMinBlocks);
  }

  int64 work() const { return work_; }  // multiply-adds per column
  int64 count() const { return count_; }
  int64 start(int64 block) const {
    const int64 row = border(rows_, work_, count_, block, [&](int64 i) { return work_before(i); });
    return block == count_ ? row : row / kAligned * kAligned;
  }

 private:
  static constexpr int64 kRows = 8192;    // rows of a block if all have equal work: y stays in cache
  static constexpr int64 kMinBlocks = 4;  // minimum number of blocks for several threads
  static constexpr int64 kAligned = 64;   // granularity in rows

  int64 work_before(int64 row) const { return row * work_per_row_ + (before_ ? before_[row] : 0); }

  int64 rows_, work_per_row_;
  const int64* before_;
  int64 work_, count_;
};

// The values of a layout. Short periods are repeated in a copy, so that long runs of rows do not wrap.
template <class U>
class Repeated {
 public:
  Repeated(const Array& values, const std::vector<Term>& terms, int64 period, int64 rows) : u_(values.as<U>()) {
    if (period == 0) return;
    width_ = period * std::max<int64>(1, std::min(kRepeatedRows, rows) / period);
    if (width_ == period) return;
    copies_.resize(terms.size() * width_);
    for (std::size_t k = 0; k < terms.size(); ++k) {
      const int64 available = std::min(period, values.size() - terms[k].u);
      U* copy = copies_.data() + k * width_;
      for (int64 r = 0; r < width_; r += period) std::copy_n(u_ + terms[k].u, available, copy + r);
    }
  }

  const U* values() const { return copies_.empty() ? u_ : copies_.data(); }

  // Sets the terms [begin, begin + local.size()) of the list up for rows from i on; returns the row where the first one
  // wraps.
  int64 advance(std::vector<Term>& local, const Term* begin, const std::vector<Term>& all, int64 i) const {
    int64 stop = std::numeric_limits<int64>::max();
    for (std::size_t k = 0; k < local.size(); ++k) {
      const int64 at = (begin[k].shift + i) % width_;
      const int64 start = copies_.empty() ? begin[k].u : (begin + k - all.data()) * width_;
      local[k].u = start + at - i;
      stop = std::min(stop, i + width_ - at);
    }
    return stop;
  }

 private:
  const U* u_;
  int64 width_ = 0;  // rows after which the copies wrap
  std::vector<U> copies_;
};

template <class U, class V>
struct MatvecRowTiles {
  using T = Product<U, V>;

  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    run_then(a, op, alpha, x, beta, y, {[](const void*, int64, int64) {}, nullptr});
  }

  static void run_then(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y,
                       AfterRows after) {
    const int64 period = a.layout().packing.period;
    const RowSums sums = row_sums(packed_spans_of(a.layout(), op), period);
    const Task task{op.conjugated, alpha, x, beta, y};
    const Repeated<U> repeated(a.values, sums.terms, period, y.rows);
    const Blocks blocks(y.rows, sums.work, after.before);
    parallel_for(blocks.count(), blocks.work() * x.cols, [&](int64 block) {
      const int64 first = blocks.start(block), last = blocks.start(block + 1);
      if (first == last) return;
      const auto [begin, end] = terms_in(sums.terms, first, last);
      if (period == 0) {
        sum(task, repeated.values(), begin, end, first, last);
        return after.then(after.of, first, last);
      }
      std::vector<Term> local(begin, end);
      for (int64 i = first; i < last;) {
        const int64 stop = std::min(last, repeated.advance(local, begin, sums.terms, i));
        sum(task, repeated.values(), local.data(), local.data() + local.size(), i, stop);
        i = stop;
      }
      after.then(after.of, first, last);
    });
  }

 private:
  struct Task {
    bool conj;
    Scalar alpha;
    const Dense& x;
    Scalar beta;
    const Dense& y;
  };

  // Computes the rows [first, last) of the sum over [begin, end). Not inlined, because it is almost the complete kernel
  // and called in two places.
  [[gnu::noinline]] static void sum(const Task& task, const U* u, const Term* begin, const Term* end, int64 first,
                                    int64 last) {
    const Dense &x = task.x, &y = task.y;
    const Update<T> update(task.alpha, task.beta);
    if (y.cols > 1 && x.col_stride == 1 && y.col_stride == 1) {
      const RowMajor<U, V> kernel{u, x.as<V>(), y.as<T>(), x.row_stride, y.row_stride, task.conj, update};
      return kernel.run(begin, end, first, last, x.cols);
    }
    Streams<U, V> s(u, task.conj, x.as<V>(), false, y.as<T>(), update);
    const bool one_group = group_end<U, V>(begin, end, last - first, x.cols) == end;
    const int64 rows = one_group ? last - first : s.grouped_rows(kSeveralColumns ? std::min<int64>(x.cols, 4) : 1);
    for (int64 i = first; i < last; i += rows) {
      const int64 stop = std::min(last, i + rows);
      const auto [some, some_end] = terms_in({begin, end}, i, stop);
      columns(s, x, y, some, some_end, i, stop);
    }
  }

  // Uncommon pairs of types are multiplied by one column after another.
  static constexpr bool kSeveralColumns = sizeof(Real<U>) == sizeof(Real<V>) || !is_complex<T>;

  // At most grouped_rows rows if there are several groups. Not inlined: GCC 12 runs out of registers if RowMajor and
  // RowTiles are in one function.
  [[gnu::noinline]] static void columns(Streams<U, V>& s, const Dense& x, const Dense& y, const Term* begin,
                                        const Term* end, int64 first, int64 last) {
    s.v_stride = x.col_stride;
    s.out_stride = y.col_stride;
    int64 c = 0;
    if constexpr (kSeveralColumns) {
      for (; c + 4 <= x.cols; c += 4) run_columns<4>(s, x, y, c, begin, end, first, last);
      for (; c + 2 <= x.cols; c += 2) run_columns<2>(s, x, y, c, begin, end, first, last);
    }
    for (; c < x.cols; ++c) run_columns<1>(s, x, y, c, begin, end, first, last);
  }

  template <int K>
  [[gnu::always_inline]] static void run_columns(Streams<U, V>& s, const Dense& x, const Dense& y, int64 c,
                                                 const Term* begin, const Term* end, int64 first, int64 last) {
    s.v = x.as<V>() + c * x.col_stride;
    s.out = y.as<T>() + c * y.col_stride;
    RowTiles<U, V, K>::run_in_groups(s, begin, end, first, last, x.cols);
  }
};

template <class U, class V>
struct RowTilesThen {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y, AfterRows after) {
    MatvecRowTiles<U, V>::run_then(a, op, alpha, x, beta, y, after);
  }
};

}  // namespace

Typed<MatvecThen> matvec_row_tiles_then() { return every_pair<RowTilesThen, MatvecThen>(); }

Typed<MatvecKernel> matvec_row_tiles() { return every_stored_pair<MatvecRowTiles, MatvecKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
