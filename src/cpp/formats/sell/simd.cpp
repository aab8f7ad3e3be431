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

// The columns of N places from e on: base() + index(r), or index(r) where they are of any type.
template <int64 N, class I>
class Run {
 public:
  [[gnu::always_inline]] Run(const Columns<I>& columns, int64 e)
      : index_(columns.indices + e),
        base_(columns.bases ? columns.bases[e / kChunk] : 0),
        in_one_chunk_(e % kChunk + N <= kChunk) {}

  // Whether they have one base, and none of them is padding.
  [[gnu::always_inline]] bool whole() const {
    I most = 0;
    for (int64 r = 0; r < N; ++r) most = index_[r] > most ? index_[r] : most;
    return in_one_chunk_ && !Columns<I>::padding(most);
  }
  [[gnu::always_inline]] int64 base() const { return base_; }
  [[gnu::always_inline]] int64 index(int64 r) const { return index_[r]; }

 private:
  const I* index_;
  int64 base_;
  bool in_one_chunk_;
};

template <int64 N>
[[gnu::noinline]] void lengthen(const Columns<AnyIndex>& columns, int64 e, std::int32_t* to) {
  columns.read(e, e / kChunk, e % kChunk, N, to);
}

template <int64 N>
class Run<N, AnyIndex> {
 public:
  [[gnu::always_inline]] Run(const Columns<AnyIndex>& columns, int64 e) : column_(room_) {
    if (columns.wide()) column_ = columns.wide() + e;
    else lengthen<N>(columns, e, room_);
  }

  [[gnu::always_inline]] bool whole() const {
    std::int32_t any = 0;
    for (int64 r = 0; r < N; ++r) any |= column_[r];
    return any >= 0;
  }
  [[gnu::always_inline]] int64 index(int64 r) const { return column_[r]; }

 private:
  const std::int32_t* column_;
  std::int32_t room_[N];
};

// Kernel "row" of y = alpha op(A) x + beta y.
// op = N: slices with equal work on each thread; of a slice 8 rows at a time, in the common case 32 or 16, their sums
//         in registers, one entry of each after the other, as they lie. A row is summed in the order of its entries,
//         from zero, up to its padding.
// op = T: kernels/scatter.hpp, slice by slice.
template <class U, class V>
struct SellMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto a = Sell<U, AnyIndex>::of(m);
    if (op.transposed) {
      const int64 work = a.slice_indptr[a.slices] + a.slices;
      const auto cut = [&](int64 pieces, int64 k) {
        return border(a.slices, work, pieces, k, [&](int64 s) { return a.slice_indptr[s] + s; });
      };
      const auto walk = [&](int64 begin, int64 end, const auto& take) { walk_slices(a, begin, end, take); };
      return scatter<U, V>(m, op.conjugated, alpha, x, beta, y, cut, walk);
    }
    // Neighbouring elements and no conjugate have a loop of their own, with real operands of one type also for each
    // type of short columns.
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
          const auto product = [=](U value, V of_x) {
            return multiply(Plain ? value : conjugate_if(conj, value), of_x);
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

  // Calls put(p, the sum of product(value, x_at(base, column - base)) over stored row p) for the rows of slice s.
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

  // The same for N neighbouring rows, whose first entries lie at `e`: together until one of them ends, or short columns
  // of theirs lie in two chunks; then the rest of each.
  template <int64 N, class I, class Fetch, class Multiply, class Put>
  [[gnu::always_inline]] static void sum_rows(const Sell<U, I> a, int64 p, int64 e, int64 end, const Fetch x_at,
                                              const Multiply product, const Put put) {
    T sums[N] = {};
    for (; N > 1 && e < end; e += a.height) {
      const Run<N, I> column(a.columns, e);
      if (!column.whole()) break;
      const U* const value = a.values + e;
      if constexpr (std::is_same_v<I, AnyIndex>) {
        for (int64 r = 0; r < N; ++r) sums[r] += product(value[r], x_at(0, column.index(r)));
      } else {  // no loop: compilers would make vectors of short indices, and take them apart again
        V of_x[N];
        const auto fetch = [&]<int64... r>(std::integer_sequence<int64, r...>) {
          ((of_x[r] = x_at(column.base(), column.index(r))), ...);
        };
        fetch(std::make_integer_sequence<int64, N>());
        for (int64 r = 0; r < N; ++r) sums[r] += product(value[r], of_x[r]);
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

  // Calls take(i)(j, value) for every entry of some slices, as they lie.
  template <class Take>
  static void walk_slices(const Sell<U, AnyIndex>& a, int64 begin, int64 end, const Take& take) {
    std::int32_t room[kChunk];
    for (int64 s = begin; s < end; ++s) {
      checkpoint();
      const int64 first = s * a.height, count = std::min(a.height, a.rows - first);
      for (int64 e = a.slice_indptr[s]; e < a.slice_indptr[s + 1]; e += a.height) {
        for (int64 from = 0; from < count; from += kChunk) {
          const int64 place = e + from, rows = std::min(kChunk, count - from);
          const std::int32_t* const column = a.columns.read(place, place / kChunk, place % kChunk, rows, room);
          for (int64 k = 0; k < rows; ++k) {
            if (column[k] >= 0) take(a.row(first + from + k))(column[k], a.values[place + k]);
          }
        }
      }
    }
  }
};

FormatKernels make() { return {{{"row", every_pair<SellMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("sell", kIsa, make);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
