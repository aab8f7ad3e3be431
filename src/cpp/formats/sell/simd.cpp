// The kernel of sell on the CPU.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "cpu/parallel.hpp"
#include "formats/sell/layout.hpp"
#include "kernels/scatter.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// The columns of N consecutive positions from e on. Column r is base() + index(r), or index(r) if I is AnyIndex.
template <int64 N, class I>
class ColumnGroup {
 public:
  [[gnu::always_inline]] ColumnGroup(const Columns<I>& columns, int64 e)
      : index_(columns.indices + e),
        base_(columns.bases ? columns.bases[e / kChunk] : 0),
        in_one_chunk_(e % kChunk + N <= kChunk) {}

  // Whether all of them have the same base, and none of them is padding.
  [[gnu::always_inline]] bool complete() const {
    I largest = 0;
    for (int64 r = 0; r < N; ++r) largest = index_[r] > largest ? index_[r] : largest;
    return in_one_chunk_ && !Columns<I>::padding(largest);
  }
  [[gnu::always_inline]] int64 base() const { return base_; }
  [[gnu::always_inline]] int64 index(int64 r) const { return index_[r]; }

 private:
  const I* index_;
  int64 base_;
  bool in_one_chunk_;
};

[[gnu::noinline]] void read_columns(const Columns<AnyIndex>& columns, int64 e, int64 count, std::int32_t* to) {
  columns.read(e, e / kChunk, e % kChunk, count, to);
}

template <int64 N>
class ColumnGroup<N, AnyIndex> {
 public:
  [[gnu::always_inline]] ColumnGroup(const Columns<AnyIndex>& columns, int64 e) : column_(buffer_) {
    if (columns.wide()) column_ = columns.wide() + e;
    else read_columns(columns, e, N, buffer_);
  }

  [[gnu::always_inline]] bool complete() const {
    std::int32_t any = 0;
    for (int64 r = 0; r < N; ++r) any |= column_[r];
    return any >= 0;
  }
  [[gnu::always_inline]] int64 index(int64 r) const { return column_[r]; }

 private:
  const std::int32_t* column_;
  std::int32_t buffer_[N];
};

template <class U>
struct SellEntries {
  Sell<U, AnyIndex> a;

  static SellEntries of(const Matrix& m) { return {Sell<U, AnyIndex>::of(m)}; }
  int64 begin(int64 blocks, int64 k) const {
    const int64 work = a.slice_indptr[a.slices] + a.slices;
    return border(a.slices, work, blocks, k, [&](int64 s) { return a.slice_indptr[s] + s; });
  }
  template <class Visit>
  void traverse(int64 begin, int64 end, const Visit& visit) const {
    std::int32_t buffer[kChunk];
    for (int64 s = begin; s < end; ++s) {
      checkpoint();
      const int64 first = s * a.height, count = std::min(a.height, a.rows - first);
      for (int64 e = a.slice_indptr[s]; e < a.slice_indptr[s + 1]; e += a.height) {
        for (int64 from = 0; from < count; from += kChunk) {
          const int64 position = e + from, rows = std::min(kChunk, count - from);
          const std::int32_t* const column =
              a.columns.read(position, position / kChunk, position % kChunk, rows, buffer);
          for (int64 k = 0; k < rows; ++k) {
            if (column[k] >= 0) visit(a.row(first + from + k))(column[k], a.values[position + k]);
          }
        }
      }
    }
  }
};

// Kernel "row" of y = alpha op(A) x + beta y.
// op = N: each thread processes slices with equal work. The rows of a slice are summed in registers 8 at a time (32 or
//         16 in the common case), in storage order: entry 0 of each row, then entry 1, and so on. A row is summed in
//         the order of its entries, from zero, up to its padding.
// op = T: kernels/scatter.hpp, slice by slice.
template <class U, class V>
struct SellMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto a = Sell<U, AnyIndex>::of(m);
    if (op.transposed) return scatter<V>(SellEntries<U>{a}, m, op.conjugated, alpha, x, beta, y);
    // Contiguous vectors without conjugation have their own loop. For real operands of the same type, so does each type
    // of short columns.
    if constexpr (kCommonPair<U, V>) {
      if (x.row_stride == 1 && y.row_stride == 1 && !op.conjugated) {
        if constexpr (std::is_same_v<U, V> && !is_complex<U>) {
          if (a.columns.type == DType::u8) return gather<true>(Sell<U, std::uint8_t>::of(m), false, alpha, x, beta, y);
          if (a.columns.type == DType::u16)
            return gather<true>(Sell<U, std::uint16_t>::of(m), false, alpha, x, beta, y);
        }
        return gather<true>(a, false, alpha, x, beta, y);
      }
    }
    gather<false>(a, op.conjugated, alpha, x, beta, y);
  }

 private:
  template <bool Plain, class I>
  static void gather(const Sell<U, I>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
    const int64 work = a.slice_indptr[a.slices] + a.rows, tasks = tasks_for(work);
    const auto before = [&](int64 s) { return a.slice_indptr[s] + s * a.height; };
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      const int64 last = border(a.slices, work, tasks, task + 1, before);
      for (int64 s = border(a.slices, work, tasks, task, before); s < last; ++s) {
        for (int64 c = 0; c < x.cols; ++c) {
          const V* in = x.as<V>() + c * x.col_stride;
          T* out = y.as<T>() + c * y.col_stride;
          const auto x_at = [=](int64 base, int64 index) { return (in + base * x_step)[index * x_step]; };
          const auto product = [=](U value, V x_value) {
            return multiply(Plain ? value : conjugate_if(conj, value), x_value);
          };
          if (Plain && update.plain && !a.row_order) {
            sum_slice<Plain>(a, s, x_at, product, [=](int64 p, T sum) { out[p] = sum; });
          } else {
            sum_slice<Plain>(a, s, x_at, product,
                             [=, &a, &update](int64 p, T sum) { update.one(out + a.row(p) * y_step, sum); });
          }
        }
      }
    });
  }

  // Calls put(p, sum) for each stored row p of slice s. The sum is that of product(value, x_at(base, index)) over the
  // row, for columns base + index.
  template <bool Plain, class I, class Fetch, class Multiply, class Put>
  [[gnu::always_inline]] static void sum_slice(const Sell<U, I>& a, int64 s, const Fetch x_at, const Multiply product,
                                               const Put put) {
    const int64 end = a.slice_indptr[s + 1], last = std::min(a.rows, (s + 1) * a.height);
    int64 p = s * a.height, e = a.slice_indptr[s];
    if constexpr (Plain) {
      for (; p + 32 <= last; p += 32, e += 32) sum_rows<32>(a, p, e, end, x_at, product, put);
      for (; p + 16 <= last; p += 16, e += 16) sum_rows<16>(a, p, e, end, x_at, product, put);
    }
    for (; p + 8 <= last; p += 8, e += 8) sum_rows<8>(a, p, e, end, x_at, product, put);
    for (; p < last; ++p, ++e) sum_rows<1>(a, p, e, end, x_at, product, put);
  }

  // The same for N neighbouring rows whose first entries are at `e`. They are summed together until one of them ends,
  // or until their short columns belong to two chunks. The remaining entries are summed row by row.
  template <int64 N, class I, class Fetch, class Multiply, class Put>
  [[gnu::always_inline]] static void sum_rows(const Sell<U, I> a, int64 p, int64 e, int64 end, const Fetch x_at,
                                              const Multiply product, const Put put) {
    T sums[N] = {};
    for (; N > 1 && e < end; e += a.height) {
      const ColumnGroup<N, I> column(a.columns, e);
      if (!column.complete()) break;
      const U* const value = a.values + e;
      if constexpr (std::is_same_v<I, AnyIndex>) {
        for (int64 r = 0; r < N; ++r) sums[r] += product(value[r], x_at(0, column.index(r)));
      } else {  // not a loop: compilers would load short indices into vectors, and unpack them again
        V x_value[N];
        const auto fetch = [&]<int64... r>(std::integer_sequence<int64, r...>) {
          ((x_value[r] = x_at(column.base(), column.index(r))), ...);
        };
        fetch(std::make_integer_sequence<int64, N>());
        for (int64 r = 0; r < N; ++r) sums[r] += product(value[r], x_value[r]);
      }
    }
    for (int64 r = 0; e < end && r < N; ++r) {
      for (int64 f = e + r; f < end; f += a.height) {
        const std::int32_t j = a.columns.at(f, f / kChunk);
        if (j < 0) break;
        sums[r] += product(a.values[f], x_at(0, j));
      }
    }
    for (int64 r = 0; r < N; ++r) put(p + r, sums[r]);
  }
};

FormatKernels kernel_table() { return {{{"row", every_pair<SellMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("sell", kIsa, kernel_table);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
