// C = alpha (Ab + As)(Bb + Bs) + beta C of quasi-bands on the CPU: "rows", the default.
//
//   A: m x l, B: l x n, C: m x n with the structure of the plan (formats/qband/products.hpp). Bytes at least: A, B, C.
//
// The product of the bands is computed by dia. For the rest, each thread processes blocks of rows. A row of As Bb + Ab
// Bs + As Bs is summed in an array of accumulators, one for each column between the first and the last one that these
// rows have. Each sum is then stored in the rest of C, or added to the bands of C. If As has many entries, the bands of
// B are first copied to rows, so that the elements which an entry of As is multiplied by are contiguous. Otherwise,
// each diagonal is read where it is stored. The entries of Bs that a strip of diagonals of A is multiplied by are
// contiguous anyway, because the rows of Bs are.
// The order of a sum depends on the structure only: the result has the same bits for any number of threads.
#include "cpu/parallel.hpp"
#include "formats/qband/cpu_kernels.hpp"
#include "formats/qband/rest_operands.hpp"

namespace diagsparse {

namespace {

// The bands of B stored by rows: element d of row k belongs to diagonal d. Empty if this is not worth the copy.
template <class V>
class BandRows {
 public:
  BandRows(const QuasiBandValues<V>& b, int64 rows, int64 entries)
      : b_(b), width_(static_cast<int64>(b.bands.spans.size())) {
    constexpr int64 tile = 64;
    if (!use_band_rows(rows, width_, entries)) return;
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

  // Adds u times the elements of row k on diagonals [first, first + count) to `count` sums.
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
    const QuasiBand operand_a(*plan.a, plan.op_a), operand_b(*plan.b, plan.op_b);
    const QuasiBandValues<U> a(operand_a, *work.a, left);
    const QuasiBandValues<V> b(operand_b, *work.b, right);
    const BandRows<V> rows(b, operand_b.rows(), operand_a.entries());
    const RestOfResult<T> to(plan, c);
    parallel_for(static_cast<int64>(work.row_boundaries.size()) - 1, work.products, [&](int64 task) {
      const int64 begin = work.row_boundaries[task], end = work.row_boundaries[task + 1];
      const auto [low, high] = work.columns(begin, end, to.indptr, to.columns);
      if (low > high) return;
      std::vector<T> buffer(high - low + 1);
      std::vector<U> strip_elements(a.bands.spans.size());  // the elements of a strip in a row
      for (int64 i = begin; i < end; ++i) {
        if (i % kRowsPerCheckpoint == 0) checkpoint();
        add_row(i, plan.cols, operand_b.rows(), a, b, rows, strip_elements.data(), buffer.data() - low);
        store_row(i, work, to, alpha, beta, buffer.data() - low);
      }
    });
  }

 private:
  static void add_row(int64 i, int64 cols, int64 inner, const QuasiBandValues<U>& a, const QuasiBandValues<V>& b,
                      const BandRows<V>& rows, U* strip_elements, T* sums) {
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
        strip_elements[offset - first] = a.band(strip.number + offset - strip.low, i);
      }
      const U* const elements_by_row = strip_elements - (i + first);
      for (int64 f = begin; f < end; ++f) sums[b.column(f)] += multiply(elements_by_row[b.row(f)], b.entry(f));
    });
  }

  // Stores the sums of a row in C, and resets them to zero.
  static void store_row(int64 i, const RestOnCpu& work, const RestOfResult<T>& to, Scalar alpha, Scalar beta, T* sums) {
    const Update<T> update(alpha, beta), add(alpha, 1.0);
    for (int64 e = to.indptr[i]; e < to.indptr[i + 1]; ++e) {
      T& sum = sums[to.columns[e]];
      update.one(to.rest + e, sum);
      sum = T{};
    }
    const auto* on_bands = work.on_bands_indptr.as<int64>();
    for (int64 e = on_bands[i]; e < on_bands[i + 1]; ++e) {
      const std::int32_t j = work.on_bands_columns.as<std::int32_t>()[e];
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
