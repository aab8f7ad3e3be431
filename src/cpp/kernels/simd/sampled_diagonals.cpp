// Sampled products of dia, hm and cdm: C[i, i + k] = sum over p of X[i, p] Y[i + k, p] on the diagonals k of C.
//
//   C: m x n, D diagonals.  X: m x p.  Y: n x p.  Minimum traffic in bytes: X + Y + C, once each.
//
// A thread processes tiles of rows. The elements of a diagonal in a tile are consecutive values, each of which is a sum
// over the columns of X and Y, in registers. X and Y stay in the caches from one diagonal to the next. Kernels need
// their columns contiguous, as in F order; in C order, the rows of a tile are transposed first. For neighbouring
// diagonals, the rows of Y are transposed only once. Large results are written past the caches. A sum is added in the
// order of the columns, so it has the same bits in any tile, for any number of threads, and for both orders.
#include <vector>

#include "core/sampled.hpp"
#include "cpu/parallel.hpp"
#include "kernels/simd/stream.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kTileBytes = 1 << 13;  // of X, so that a tile of X and of Y stay in the first-level cache
constexpr int64 kMinRows = 128;        // of a tile; for transposed rows of Y, the distance of neighbouring diagonals
constexpr int64 kStreamedBytes = 1 << 23;  // of a result that is written past the caches

// Columns of consecutive rows: element (row, p) is at data[(row - first) + p * step].
template <class T>
struct Columns {
  const T* data;
  int64 first, step;

  const T* row(int64 i) const { return data + (i - first); }
};

// The rows [first, last) of an operand; transposed to `buffer` unless its columns are contiguous.
template <class T>
Columns<T> columns_of(const Dense& d, int64 first, int64 last, std::vector<T>& buffer) {
  if (d.row_stride == 1) return {d.as<T>(), 0, d.col_stride};
  const int64 rows = last - first;
  buffer.resize(rows * d.cols);
  const T* const from = d.as<T>() + first * d.row_stride;
  for (int64 i = 0; i < rows; ++i) {
    for (int64 p = 0; p < d.cols; ++p) buffer[p * rows + i] = from[i * d.row_stride + p * d.col_stride];
  }
  return {buffer.data(), first, rows};
}

template <class T, bool Streamed>
class Segment {
  using M = Mac<T, T>;
  static constexpr int64 step = M::step;
  static constexpr int N = M::both ? 2 : 4;  // vectors at a time

 public:
  // Writes `count` consecutive elements of a diagonal; x and y are the rows of the first one, with `p` columns.
  static void write(const T* x, int64 x_step, const T* y, int64 y_step, int64 p, T* to, int64 count) {
    int64 i = 0;
    if (Streamed) {
      const auto past = reinterpret_cast<std::uintptr_t>(to) % kVectorBytes;
      i = std::min<int64>(count, past == 0 ? 0 : (kVectorBytes - past) / sizeof(T));
      some(x, x_step, y, y_step, p, to, i);
    }
    for (; i + N * step <= count; i += N * step) vectors<N>(x + i, x_step, y + i, y_step, p, to + i);
    for (; i + step <= count; i += step) vectors<1>(x + i, x_step, y + i, y_step, p, to + i);
    some(x + i, x_step, y + i, y_step, p, to + i, count - i);
  }

 private:
  template <int Vectors>
  [[gnu::always_inline]] static void vectors(const T* x, int64 x_step, const T* y, int64 y_step, int64 p, T* to) {
    typename M::Acc acc[Vectors];
    for (int64 c = 0; c < p; ++c, x += x_step, y += y_step) {
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) M::add(acc[j], M::left(x + j * step), M::right(y + j * step));
    }
    const auto signs = M::signs(false, false);
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) {
      auto* const at = reinterpret_cast<typename M::R*>(to + j * step);
      if constexpr (Streamed) stream(at, M::total(acc[j], signs));
      else store(at, M::total(acc[j], signs));
    }
  }

  // Fewer elements than a vector has.
  [[gnu::noinline]] static void some(const T* x, int64 x_step, const T* y, int64 y_step, int64 p, T* to, int64 count) {
    if (count <= 0) return;
    typename M::Acc acc;
    for (int64 c = 0; c < p; ++c) {
      T some_x[step] = {}, some_y[step] = {};
      std::copy_n(x + c * x_step, count, some_x);
      std::copy_n(y + c * y_step, count, some_y);
      M::add(acc, M::left(some_x), M::right(some_y));
    }
    T sums[step];
    store(reinterpret_cast<typename M::R*>(sums), M::total(acc, M::signs(false, false)));
    std::copy_n(sums, count, to);
  }
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
      std::vector<T> of_x, of_y;
      const Columns<T> left = columns_of(x, first, last, of_x);
      for (auto s = spans.begin(); s != spans.end();) {
        // Neighbouring diagonals, and the rows of Y that they need in this tile.
        auto end = s;
        int64 low = y.rows, high = 0;
        for (; end != spans.end() && end->offset <= s->offset + kMinRows; ++end) {
          const auto [from, to] = rows_of(*end, first, last);
          if (from < to) low = std::min(low, from + end->offset), high = std::max(high, to + end->offset);
        }
        const Columns<T> right = columns_of(y, std::min(low, high), high, of_y);
        for (; s != end; ++s) {
          const auto [from, to] = rows_of(*s, first, last);
          if (from < to) {
            Segment<T, Streamed>::write(left.row(from), left.step, right.row(from + s->offset), right.step, p,
                                        values + s->start + (from - s->row), to - from);
          }
        }
      }
      if (Streamed) finish_streams();
    });
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
