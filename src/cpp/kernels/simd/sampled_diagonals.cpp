// Sampled products of dia, hm and cdm: C[i, i + k] = sum over p of X[i, p] Y[i + k, p] on the diagonals k of C.
//
//   C: m x n, D diagonals.  X: m x p.  Y: n x p.  Minimum traffic in bytes: X + Y + C, once each.
//
// A thread processes tiles of rows. The elements of a diagonal in a tile are consecutive values, each of which is a sum
// over the columns of X and Y, in registers. X and Y stay in the caches from one diagonal to the next. Kernels need
// their columns contiguous, as in F order; in C order, the rows of a tile are transposed first. For neighbouring
// diagonals, the rows of Y are transposed only once. Large results are written past the caches. A sum is added in the
// order of the columns, so it has the same bits in any tile, for any number of threads, and for both orders.
#include <memory>
#include <vector>

#include "core/sampled.hpp"
#include "cpu/parallel.hpp"
#include "kernels/simd/stream.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kTileBytes = 1 << 14;  // of X, so that a tile of X and of Y stay in the first-level cache
constexpr int64 kMinRows = 128;        // of a tile; for transposed rows of Y, the distance of neighbouring diagonals
constexpr int kTogether = 4;           // columns that are transposed together
constexpr int64 kStreamedBytes = 1 << 23;  // of a result that is written past the caches

// Columns of consecutive rows: element (row, p) is at data[(row - first) + p * step].
template <class T>
struct Columns {
  const T* data;
  int64 first, step;

  const T* row(int64 i) const { return data + (i - first); }
};

// The rows [first, last) of an operand; transposed to `to` unless its columns are contiguous.
template <class T>
Columns<T> columns_of(const Dense& d, int64 first, int64 last, T* to) {
  if (d.row_stride == 1) return {d.as<T>(), 0, d.col_stride};
  const int64 rows = last - first;
  const T* const from = d.as<T>() + first * d.row_stride;
  int64 p = 0;
  for (; p + kTogether <= d.cols; p += kTogether) {
    for (int64 i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int k = 0; k < kTogether; ++k) to[(p + k) * rows + i] = from[i * d.row_stride + (p + k) * d.col_stride];
    }
  }
  for (; p < d.cols; ++p) {
    for (int64 i = 0; i < rows; ++i) to[p * rows + i] = from[i * d.row_stride + p * d.col_stride];
  }
  return {to, first, rows};
}

// Consecutive elements of a diagonal; x and y are the rows of the first one, with `p` columns.
template <class T>
class Segment {
  using M = Mac<T, T>;
  static constexpr int64 step = M::step;
  static constexpr int N = M::both ? 2 : 4;  // vectors at a time

 public:
  Segment(const T* x, int64 x_step, const T* y, int64 y_step, int64 p)
      : x_(x), y_(y), x_step_(x_step), y_step_(y_step), p_(p) {}

  // Elements at both ends may be written twice, with the same bits.
  template <bool Streamed>
  void write(T* to, int64 count) const {
    if (count < step) return write_few(to, count);
    int64 i = 0;
    if (Streamed) {
      const auto past = reinterpret_cast<std::uintptr_t>(to) % kVectorBytes;
      if (past != 0) vectors<1, false>(to, 0);
      i = past == 0 ? 0 : (kVectorBytes - past) / sizeof(T);
    }
    for (; i + N * step <= count; i += N * step) vectors<N, Streamed>(to, i);
    for (; i + step <= count; i += step) vectors<1, Streamed>(to, i);
    if (i < count) vectors<1, false>(to, count - step);
  }

 private:
  template <int Vectors, bool Streamed>
  [[gnu::always_inline]] void vectors(T* to, int64 i) const {
    typename M::Acc acc[Vectors];
    const T *x = x_ + i, *y = y_ + i;
    for (int64 c = 0; c < p_; ++c, x += x_step_, y += y_step_) {
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) M::add(acc[j], M::left(x + j * step), M::right(y + j * step));
    }
    const auto signs = M::signs(false, false);
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) {
      auto* const at = reinterpret_cast<typename M::R*>(to + i + j * step);
      if constexpr (Streamed) stream(at, M::total(acc[j], signs));
      else store(at, M::total(acc[j], signs));
    }
  }

  // Fewer elements than a vector has.
  [[gnu::noinline]] void write_few(T* to, int64 count) const {
    typename M::Acc acc;
    for (int64 c = 0; c < p_; ++c) {
      T some_x[step] = {}, some_y[step] = {};
      std::copy_n(x_ + c * x_step_, count, some_x);
      std::copy_n(y_ + c * y_step_, count, some_y);
      M::add(acc, M::left(some_x), M::right(some_y));
    }
    T sums[step];
    store(reinterpret_cast<typename M::R*>(sums), M::total(acc, M::signs(false, false)));
    std::copy_n(sums, count, to);
  }

  const T *x_, *y_;
  int64 x_step_, y_step_, p_;
};

template <class T, class>
struct SampledDiagonals {
  static void run(const Dense& x, const Dense& y, Matrix& c) {
    T* const values = c.values.as<T>();
    // Streamed stores need addresses that become multiples of a vector.
    const bool streamed =
        c.values.nbytes() >= kStreamedBytes && reinterpret_cast<std::uintptr_t>(values) % sizeof(T) == 0;
    streamed ? write_tiles<true>(x, y, c.layout().spans, values, c.rows)
             : write_tiles<false>(x, y, c.layout().spans, values, c.rows);
  }

 private:
  template <bool Streamed>
  static void write_tiles(const Dense& x, const Dense& y, const std::vector<Span>& spans, T* values, int64 rows) {
    const int64 p = x.cols, row_bytes = std::max<int64>(1, p) * static_cast<int64>(sizeof(T));
    const int64 height = std::max(kMinRows, kTileBytes / row_bytes), tiles = (rows + height - 1) / height;
    int64 stored = 0;
    for (const Span& s : spans) stored += s.length;
    parallel_for(tiles, stored * std::max<int64>(1, p), [&](int64 tile) {
      const int64 first = tile * height, last = std::min(rows, first + height);
      const std::unique_ptr<T[]> of_x = buffer(x, height), of_y = buffer(y, height + kMinRows);
      const Columns<T> left = columns_of(x, first, last, of_x.get());
      for (auto s = spans.begin(); s != spans.end();) {
        // Neighbouring diagonals, and the rows of Y that they need in this tile.
        auto end = s;
        int64 low = y.rows, high = 0;
        for (; end != spans.end() && end->offset <= s->offset + kMinRows; ++end) {
          const auto [from, to] = rows_of(*end, first, last);
          if (from < to) low = std::min(low, from + end->offset), high = std::max(high, to + end->offset);
        }
        const Columns<T> right = columns_of(y, std::min(low, high), high, of_y.get());
        for (; s != end; ++s) {
          const auto [from, to] = rows_of(*s, first, last);
          if (from < to) {
            const Segment<T> segment(left.row(from), left.step, right.row(from + s->offset), right.step, p);
            segment.template write<Streamed>(values + s->start + (from - s->row), to - from);
          }
        }
      }
      if (Streamed) finish_streams();
    });
  }

  // Memory for the transpose of so many rows, if they need one.
  static std::unique_ptr<T[]> buffer(const Dense& d, int64 rows) {
    if (d.row_stride == 1) return nullptr;
    return std::make_unique_for_overwrite<T[]>(rows * d.cols);
  }

  // The rows [first, last) of a diagonal.
  static std::pair<int64, int64> rows_of(const Span& s, int64 first, int64 last) {
    return {std::max(first, s.row), std::min(last, s.row + s.length)};
  }
};

Typed<SampledKernel> kernels_of_diagonals() { return one_type<SampledDiagonals, SampledKernel>(); }
const RegisterSampled dia("dia", kIsa, kernels_of_diagonals), hm("hm", kIsa, kernels_of_diagonals),
    cdm("cdm", kIsa, kernels_of_diagonals);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
