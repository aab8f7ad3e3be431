// C = alpha (Ab + As)(Bb + Bs) + beta C of quasi-bands on the CPU: "rows", the default.
//
//   A: m x l, B: l x n, C: m x n with the structure that the plan has (core/quasi_bands.hpp). Bytes at least: A, B, C.
//
// The product of the bands is that of dia. Of the rest a thread takes blocks of rows, and sums a row of
// As Bb + Ab Bs + As Bs side by side, in an array as wide as the columns that these rows reach. Then each sum goes to
// its place in C, or is added to the band there. Where As has an entry in many columns, the bands of B are brought into
// rows first, so that an entry of As meets neighbours in memory; else it meets each diagonal where it lies. The entries
// of Bs that a strip of A's diagonals meets are neighbours already, since its rows are.
// A sum adds up in an order that the structure alone decides: the same bits for any number of threads.
#include "cpu/parallel.hpp"
#include "formats/qband/cpu_kernels.hpp"
#include "formats/qband/rest_operands.hpp"

namespace diagsparse {

namespace {

// The bands of B in rows: element d of row k is the one on diagonal d. Empty where that does not pay.
template <class V>
class BandRows {
 public:
  BandRows(const QuasiBandValues<V>& b, int64 rows, int64 entries)
      : b_(b), width_(static_cast<int64>(b.bands.spans.size())) {
    constexpr int64 tile = 64;
    if (!in_rows(rows, width_, entries)) return;
    values_ = Array::empty(dtype_of<V>(), {rows * width_});
    V* const to = values_.as<V>();
    parallel_for((rows + tile - 1) / tile, rows * width_, [&](int64 task) {
      for (int64 d = 0; d < width_; ++d) {
        const Span& s = b.bands.spans[d];
        for (int64 k = task * tile; k < std::min(rows, (task + 1) * tile); ++k) {
          to[k * width_ + d] = k >= s.row && k < s.row + s.length ? b.band(d, k) : V{};
        }
      }
    });
  }

  // Adds u times the diagonals [first, first + count) of row k to as many sums.
  template <class U, class T>
  void add(U u, int64 k, int64 first, int64 count, T* sums) const {
    if (!values_.data) {
      for (int64 d = 0; d < count; ++d) sums[d] += multiply(u, b_.band(first + d, k));
      return;
    }
    const V* const row = values_.as<V>() + k * width_ + first;
    for (int64 d = 0; d < count; ++d) sums[d] += multiply(u, row[d]);
  }

 private:
  const QuasiBandValues<V>& b_;
  int64 width_;
  Array values_;
};

template <class U, class V>
struct RestByRows {
  using T = Product<U, V>;

  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    const RestOnCpu& work = rest_on_cpu(plan);
    if (work.a->columns.size() == 0 && work.b->columns.size() == 0) return;
    const QuasiBand of_a(*plan.a, plan.op_a), of_b(*plan.b, plan.op_b);
    const QuasiBandValues<U> a(of_a, *work.a, left);
    const QuasiBandValues<V> b(of_b, *work.b, right);
    const BandRows<V> rows(b, of_b.rows(), of_a.entries());
    const RestOfResult<T> to(plan, c);
    parallel_for(static_cast<int64>(work.shares.size()) - 1, work.products, [&](int64 task) {
      const int64 begin = work.shares[task], end = work.shares[task + 1];
      const auto [low, high] = work.columns(begin, end, to.indptr, to.columns);
      if (low > high) return;
      std::vector<T> room(high - low + 1);
      std::vector<U> of_band(a.bands.spans.size());  // what a strip has in a row
      for (int64 i = begin; i < end; ++i) {
        if (i % kRowsPerCheckpoint == 0) checkpoint();
        add_row(i, plan.cols, of_b.rows(), a, b, rows, of_band.data(), room.data() - low);
        take_row(i, work, to, alpha, beta, room.data() - low);
      }
    });
  }

 private:
  static void add_row(int64 i, int64 cols, int64 inner, const QuasiBandValues<U>& a, const QuasiBandValues<V>& b,
                      const BandRows<V>& rows, U* of_band, T* sums) {
    for (int64 e = a.begin(i); e < a.begin(i + 1); ++e) {
      const int64 k = a.column(e);
      const U u = a.entry(e);
      for_each_crossed(b.bands.strips, k, cols, [&](const Strip& strip, int64 first, int64 last) {
        rows.add(u, k, strip.number + first - strip.low, last - first, sums + k + first);
      });
      for (int64 f = b.begin(k); f < b.begin(k + 1); ++f) sums[b.column(f)] += multiply(u, b.entry(f));
    }
    for_each_crossed(a.bands.strips, i, inner, [&](const Strip& strip, int64 first, int64 last) {
      const int64 begin = b.begin(i + first), end = b.begin(i + last);
      if (begin == end) return;
      for (int64 offset = first; offset < last; ++offset) {
        of_band[offset - first] = a.band(strip.number + offset - strip.low, i);
      }
      const U* const of_row = of_band - (i + first);
      for (int64 f = begin; f < end; ++f) sums[b.column(f)] += multiply(of_row[b.row(f)], b.entry(f));
    });
  }

  // Brings the sums of a row to C, and leaves zeros.
  static void take_row(int64 i, const RestOnCpu& work, const RestOfResult<T>& to, Scalar alpha, Scalar beta, T* sums) {
    const Update<T> update(alpha, beta), add(alpha, 1.0);
    for (int64 e = to.indptr[i]; e < to.indptr[i + 1]; ++e) {
      T& sum = sums[to.columns[e]];
      update.one(to.rest + e, sum);
      sum = T{};
    }
    const auto* onto = work.onto_indptr.as<int64>();
    for (int64 e = onto[i]; e < onto[i + 1]; ++e) {
      const std::int32_t j = work.onto_columns.as<std::int32_t>()[e];
      add.one(&to.on_band(i, j), sums[j]);
      sums[j] = T{};
    }
  }
};

}  // namespace

MatmulRow multiply_quasi_bands_by_rows() {
  return {"rows",
          every_pair<MultiplyBands, MatmulKernel>(),
          nullptr,
          {{"the rest", every_pair<RestByRows, MatmulKernel>()}},
          "bands x bands"};
}

}  // namespace diagsparse
