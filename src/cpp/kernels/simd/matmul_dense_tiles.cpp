// Kernel "dense_tiles" of dia, hm and cdm: C = alpha op(A) op(B) + beta C for wide bands, as a dense product in tiles.
//
//   A: m x k, B: k x n, C: m x n, by diagonals. Most diagonals between the lowest and the highest one are stored.
//
//                  j0     j0 + kCols
//     i0            +-----+
//                   |  C  |
//     i0 + kRows    +-----+
//
// A tile of C stays in registers (dense_tile.hpp) while k runs over the columns in which its rows of A and its columns
// of B have elements. These are packed first, with zeros where nothing is stored (tile_operands.hpp). If the packed
// columns of B would need more than kMaxPacked, k is processed in slices, and each adds to C. Padding zeros times an
// infinity or NaN would give wrong NaNs, so tiles with results that are not finite are computed again from the stored
// elements. The result is bitwise the same for any number of threads.
//
// Minimum work: one multiply-add for each pair of diagonals and row. Minimum traffic: A, B and C.
#include <algorithm>
#include <vector>

#include "cpu/parallel.hpp"
#include "kernels/simd/diagonal_kernels.hpp"
#include "kernels/simd/tile_operands.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kMaxWorkspace = 64 << 20;  // temporary bytes of a thread; if more are needed, row_tiles runs
// The numbers of diagonals of A and of B above which this kernel is the default. Measured on Zen 4, one thread, GFLOP/s
// of row_tiles and of this kernel with AVX-512: 151 diagonals 23 and 24, 301 23 and 32, 1001 11 and 55; in float32 181
// 45 and 42, 221 44 and 50, 1001 20 and 107; in complex128 145 32 and 32, 301 32 and 41, in complex64 171 60 and 58,
// 301 60 and 74. With AVX2, it is faster from 121 diagonals on, in float32 from 181. MKL's dense product reaches 51.
template <class T>
constexpr int64 kMinWidth = sizeof(Real<T>) == 8 ? 144 : 200;
constexpr double kMaxPadding = 1.5;  // multiply-adds relative to those of stored elements
// The limit if this kernel is requested by name, as on a GPU, and a number of multiply-adds that is always accepted.
constexpr double kMaxPaddingRequested = 64, kAlwaysAccepted = 1 << 27;
template <class T>
class DenseTiles {
  using Operands = TileOperands<T>;
  using Tile = DenseTile<T>;
  static constexpr int kRows = Tile::kRows, kCols = Tile::kCols;
  static constexpr int64 kBlock = Operands::kBlock;

  const Plan& plan_;
  const Sums& sums_;
  T* c_;
  const Scalar alpha_, beta_;
  const Hulls& in_;
  std::vector<const Sum*> on_;  // C's diagonals from in_.c.low on, null where none is stored
  const Operands operands_;

 public:
  DenseTiles(const Plan& plan, const Hulls& in, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c)
      : plan_(plan),
        sums_(sums_of(plan)),
        c_(c.values.as<T>()),
        alpha_(alpha),
        beta_(beta),
        in_(in),
        on_(in.c.high - in.c.low + 1),
        operands_(plan, in, a, b) {
    for (const Sum& sum : sums_.sums) {
      if (sum.pair_ranges < sum.pair_ranges_end) on_[Hulls::offset_of(sums_, sum) - in_.c.low] = &sum;
    }
  }

  // Whether there are any terms, the workspace is small enough, and the tiles are not nearly all padding.
  static bool fits(const Plan& plan, const Hulls& in) {
    if (plan.rows == 0 || !in.has_terms()) return false;
    const double work = static_cast<double>(sums_of(plan).work),
                 most = std::max(kAlwaysAccepted, kMaxPaddingRequested * work);
    const auto wide = static_cast<double>(in.a.width()) * static_cast<double>(in.b.width());
    if (static_cast<double>(plan.rows) * wide > most && dense_work(plan, in) > most) return false;
    const typename Operands::Sizes sizes(plan, in);
    return (sizes.of_a + sizes.of_b + sizes.of_c) * static_cast<int64>(sizeof(T)) <= kMaxWorkspace;
  }

  void run() const {
    const int64 blocks = (plan_.rows + kBlock - 1) / kBlock, least = std::min<int64>(blocks, concurrent_tasks());
    const int64 worthwhile =
        plan_.rows / (2 * (in_.a.width() + in_.b.width()) + kBlock);  // runs long enough to pack B for
    const int64 tasks = std::clamp<int64>(worthwhile, least, std::min(blocks, 4 * least));
    std::vector<int64> work(blocks + 1);  // work before each block
    for (int64 b = 0; b < blocks; ++b) {
      const int64 row = std::min(plan_.rows - 1, kBlock * b + kBlock / 2);
      work[b + 1] = work[b] + 1 + static_cast<int64>(row_work(in_, row));
    }
    const auto first_block = [&](int64 task) {
      return border(blocks, work.back(), tasks, task, [&](int64 block) { return work[block]; });
    };
    parallel_for(tasks, sums_.work, [&](int64 task) {
      rows(kBlock * first_block(task), std::min(plan_.rows, kBlock * first_block(task + 1)));
    });
  }

 private:
  bool single_pass() const {
    return operands_.sizes.depth >= sums_.inner;
  }  // whether an element of C is computed in one go

  void rows(int64 first, int64 last) const {
    if (first >= last) return;
    const Update<T> given(alpha_, beta_), added(alpha_, 1.0);
    for (const Sum& sum : sums_.sums) {
      if (single_pass() && sum.pair_ranges < sum.pair_ranges_end) continue;
      // C is first set to beta C where no term contributes, as in half of the rows of cdm, or if slices of k add to it.
      T *to = c_ + sum.out + std::max(first, sum.first), *const end = c_ + sum.out + std::min(last, sum.last);
      for (; to < end; ++to) *to = given.reads ? given.beta * *to : T{};
    }
    typename Operands::Packed b{std::vector<T>(operands_.sizes.of_b), {}};
    std::vector<T> sheared(operands_.sizes.of_c), a(operands_.sizes.of_a);
    // The range of k for these rows. Slices begin at the same k on every thread.
    const int64 from = in_.a.begin(first), to = in_.a.end(last - 1);
    for (int64 k0 = from / operands_.sizes.depth * operands_.sizes.depth; k0 < std::max(to, from + 1);
         k0 += operands_.sizes.depth) {
      b.column.assign(operands_.sizes.slots, -1);
      for (int64 i = first; i < last; i += kBlock) {
        checkpoint();
        block(i, std::min(last, i + kBlock), k0, k0 + operands_.sizes.depth, a, b, sheared,
              single_pass() ? given : added);
      }
    }
  }

  // Computes rows i to last - 1, for k from k0 to k1 - 1.
  void block(int64 i, int64 last, int64 k0, int64 k1, std::vector<T>& a, typename Operands::Packed& b,
             std::vector<T>& sheared, const Update<T>& update) const {
    struct Panel {
      int64 row, rows, begin, end;
      const T* values;
    } panels[kPanels];
    int count = 0;
    T* next = a.data();
    int64 begin = sums_.inner, end = 0;
    for (int64 row = i; row < last; row += kRows) {
      const int64 rows = std::min<int64>(kRows, last - row);
      const int64 p0 = std::max(k0, in_.a.begin(row)), p1 = std::max(p0, std::min(k1, in_.a.end(row + rows - 1)));
      operands_.pack_rows(row, rows, p0, p1, next);
      panels[count++] = {row, rows, p0, p1, next};
      next += (p1 - p0) * kRows;
      if (p0 == p1) continue;
      begin = std::min(begin, p0);
      end = std::max(end, p1);
    }
    // The columns in which these rows of C have elements; if slices of k add to C, those that this slice reaches.
    const int64 low = single_pass() ? i + in_.c.low : in_.b.begin(begin);
    const int64 high = single_pass() ? last + in_.c.high : begin < end ? in_.b.end(end - 1) : 0;
    const int64 first_column = std::max<int64>(0, low) / kCols * kCols, end_column = std::min(plan_.cols, high);
    for (int64 j = first_column; j < end_column; j += kCols) {
      const int64 q0 = std::max(k0, operands_.first_row_of(j)), q1 = std::min(k1, operands_.last_row_of(j + kCols - 1));
      const T* const columns = q0 < q1 ? operands_.packed_columns(j, q0, q1, b) : nullptr;
      for (int p = 0; p < count; ++p) {
        const Panel& panel = panels[p];
        const int64 t0 = std::max(q0, panel.begin), t1 = std::min(q1, panel.end);
        alignas(64) T sums[kRows * kCols];
        if (t0 < t1) {
          Tile::multiply(panel.values + (t0 - panel.begin) * kRows, columns + (t0 - q0) * kCols, t1 - t0, sums);
        } else {
          std::fill_n(sums, kRows * kCols, T{});
        }
        put(panel.row, panel.row - i, panel.rows, j, k0, k1, sums, sheared.data());
      }
    }
    write(i, last, first_column, end_column, sheared.data(), update);
  }

  // Stores a tile by diagonals, with kBlock consecutive rows of each; index `at` of them is row i.
  void put(int64 i, int64 at, int64 rows, int64 j, int64 k0, int64 k1, T* sums, T* sheared) const {
    if (!Tile::all_finite(sums)) from_stored(i, rows, j, k0, k1, sums);
    const int64 cols = std::min<int64>(kCols, plan_.cols - j);
    for (int64 r = 0; r < rows; ++r) {
      const int64 number = j - (i + r) - in_.c.low;  // the diagonal of the first element
      const int64 from = std::max<int64>(0, -number), past = std::min(cols, static_cast<int64>(on_.size()) - number);
      T* to = sheared + (number + from) * kBlock + at + r;
      if (from == 0 && past == kCols) {
#pragma GCC unroll 32
        for (int c = 0; c < kCols; ++c) to[c * kBlock] = sums[r * kCols + c];
      } else {
        for (int64 c = from; c < past; ++c, to += kBlock) *to = sums[r * kCols + c];
      }
    }
  }

  // Writes rows i to last - 1 of the diagonals that have elements in the columns from begin to end - 1.
  void write(int64 i, int64 last, int64 begin, int64 end, const T* sheared, const Update<T>& update) const {
    const int64 first_number = std::max<int64>(0, begin - (last - 1) - in_.c.low);
    const int64 end_number = std::min<int64>(static_cast<int64>(on_.size()), end - i - in_.c.low);
    for (int64 number = first_number; number < end_number; ++number) {
      if (!on_[number]) continue;
      const int64 offset = in_.c.low + number;
      const int64 from = std::max(i, begin - offset), past = std::min(last, end - offset);
      const T* const sums = sheared + number * kBlock - i;
      T* const to = c_ + on_[number]->out;
      if (update.plain) {
        for (int64 r = from; r < past; ++r) to[r] = sums[r];
      } else {
        for (int64 r = from; r < past; ++r) update.one(to + r, sums[r]);
      }
    }
  }

  // The sums of a tile over the stored pairs of diagonals.
  [[gnu::noinline]] void from_stored(int64 i, int64 rows, int64 j, int64 k0, int64 k1, T* sums) const {
    for (int64 r = 0; r < rows; ++r) {
      for (int64 c = 0; c < std::min<int64>(kCols, plan_.cols - j); ++c) {
        const int64 row = i + r, number = j + c - row - in_.c.low;
        const Sum* const on = number >= 0 && number < static_cast<int64>(on_.size()) ? on_[number] : nullptr;
        T sum{};
        if (on) {
          sums_.for_each_pair(*on, [&](std::int32_t a, std::int32_t b) {
            const int64 k = row + sums_.a[a].shift;
            if (k >= std::max<int64>(0, k0) && k < std::min(sums_.inner, k1)) {
              sum += conjugate_if(plan_.op_a.conjugated, operands_.a[sums_.a[a].base + row]) *
                     conjugate_if(plan_.op_b.conjugated, operands_.b[sums_.b[b].base + k]);
            }
          });
        }
        sums[r * kCols + c] = sum;
      }
    }
  }
};

template <class U, class V>
struct MatmulDenseTiles {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const Hulls in(plan);
    DenseTiles<U>(plan, in, a, b, alpha, beta, c).run();
  }
};

const char* dense_tiles_fallback(const Plan& plan, DType a, DType b) {
  const auto fits = [&](auto zero) { return DenseTiles<decltype(zero)>::fits(plan, Hulls(plan)); };
  return a == b && with_value_type(a, fits) ? nullptr : "row_tiles";
}

}  // namespace

MatmulRow matmul_dense_tiles() {
  return {.name = "dense_tiles", .typed = one_type<MatmulDenseTiles, MatmulKernel>(), .fallback = dense_tiles_fallback};
}

const char* choose_diagonal_matmul(const Plan& plan, DType a, DType b) {
  if (a != b) return "row_tiles";
  return with_value_type(a, [&](auto zero) {
    using T = decltype(zero);
    if (plan.rows < kMinWidth<T>) return "row_tiles";  // small products need no further checks
    const Hulls in(plan);
    if (std::min(in.a.width(), in.b.width()) < kMinWidth<T> || !DenseTiles<T>::fits(plan, in)) return "row_tiles";
    const double work = static_cast<double>(sums_of(plan).work);
    return dense_work(plan, in) <= kMaxPadding * work ? "dense_tiles" : "row_tiles";
  });
}

}  // namespace diagsparse::DIAGSPARSE_ISA
