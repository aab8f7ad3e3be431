// Tiles of bands on the FP64 matrix units: what kernel "band" is made of.
#pragma once

#include "fetch.cuh"
#include "kernels/band_lines.hpp"

namespace diagsparse::cuda {

constexpr int kWarpRows = 16;  // rows of C a warp

struct Bands {
  const Line* lines;  // A's, B's and C's, with some that are not stored around C's
  int a_width, b_width;
  int tile, tile_end;             // of C, that have lines to be written
  int64 a_low;                    // offset of A's first line
  int64 inner_first, inner_last;  // rows between which all lines that are stored lie in full
  int64 rows, n;                  // of C; of a cyclic line
  bool cyclic;
  bool mirrored;  // B is A transposed: A's values are found among B's
  int step;       // rows from block to block: fewer than it has where lines begin beside the borders of kWritten

  __device__ Line a(int d) const { return lines[d]; }
  __device__ Line b(int e) const { return lines[a_width + e]; }
  __device__ Line c(int l) const { return lines[a_width + b_width + kWarpRows - 1 + l]; }
  __host__ __device__ int c_width() const { return a_width + b_width - 1; }
  __host__ __device__ int fetched_a() const { return mirrored ? 0 : a_width; }  // A's lines in shared memory
  // Steps of 8 rows k of B that a warp meets.
  __host__ __device__ int inner_steps() const { return (kWarpRows - 1 + a_width + 7) / 8; }
  // Bit t: in this step B's tile t adds to a tile of C that is wanted, number step + t.
  __device__ unsigned tiles_of_step(int step) const {
    const unsigned of_b = (1u << band_tiles_of(b_width)) - 1, of_c = (1u << tile_end) - (1u << tile);
    return of_c >> step & of_b;
  }
};

// Rows of B that a block of `groups` times 16 rows meets.
inline __host__ __device__ int met_rows(const Bands& bands, int groups) {
  return (groups - 1) * kWarpRows + 8 * bands.inner_steps();
}

// A line as one block sees it: element x of its part is values[at + x] for first <= x < last, and n less from x = wrap
// on, where a cyclic line passes its end.
struct alignas(16) Piece {
  int64 at;
  std::int16_t first, last, wrap;

  __device__ bool stored() const { return first < last; }
  __device__ bool holds(int x) const { return x >= first && x < last; }
  __device__ int64 place(int x, int64 n) const { return at + x - (x >= wrap ? n : 0); }
};

// Elements x0 ... x0 + count - 1 of the line; count <= n.
inline __device__ Piece piece_of(const Line& line, int64 x0, int count, const Bands& bands) {
  const auto clamp = [&](int64 x) { return static_cast<std::int16_t>(min(max(x - x0, int64(0)), int64(count))); };
  const auto all = static_cast<std::int16_t>(count);
  if (!line.stored()) return {0, 0, 0, 0};
  if (!bands.cyclic) return {line.base + x0, clamp(line.first), clamp(line.last), all};
  const int64 n = bands.n, start = ((x0 - line.first + n - line.last) % n + n) % n;
  return {line.base + line.first + line.last - n + start, 0, all,
          static_cast<std::int16_t>(min(n - start, int64(count)))};
}

// The same between inner_first and inner_last.
inline __device__ Piece inner_piece(const Line& line, int64 x0, int count) {
  const auto all = static_cast<std::int16_t>(line.stored() ? count : 0);
  return {line.base + x0, 0, all, all};
}

// Bytes of memory that are written by one block: sectors; where products take longer than copies, what a bulk copy
// takes, so that fewer rows are computed twice. (n = 10^6, 41 diagonals, hm: float64 381 against 386 us, complex64 832
// against 782.)
template <class T>
constexpr int kWritten = std::is_same_v<T, double> ? kSector : 16;

// What a block writes of a line of C of which it computes `piece`; the rest is its neighbours'.
template <class T>
inline __device__ Piece written(Piece piece, const Line& line, const T* c, const Bands& bands) {
  constexpr int item = sizeof(T), together = kWritten<T> / item;
  const int late = (together - since_border(c + line.base, kWritten<T>) / item) % together;
  if (blockIdx.x > 0) piece.first = max(static_cast<int>(piece.first), late);
  piece.last = min(static_cast<int>(piece.last), bands.step + late);
  return piece;
}

// A block's shared memory: bytes from its beginning, elements between lines. C's lines take the place of A's and B's
// when these are done with. The tables tell where each line begins; they go beyond the lines on both sides, as the
// tiles do.
struct Room {
  int a_stride, b_stride, c_stride;
  int b, nothing;  // B's lines; a line of zeros, for what is not stored
  int pieces, a_at, b_at, c_at, table, total;

  static constexpr int a_front = kWarpRows - 1, b_front = 7, c_front = kWarpRows - 1;  // of the tables

  // `table` lines of each operand. The strides keep the skewed accesses to the tiles' fragments free of bank conflicts.
  Room(const Bands& bands, int item, int groups, int table) : table(table) {
    const auto next = [](int least, int rest, int step) { return least + (rest - least % step + step) % step; };
    const int rows = groups * kWarpRows, shift = kSector / item - 1;  // room for lines that begin behind a border
    a_stride = next(rows + shift, 32 / item, 64 / item);
    b_stride = next(met_rows(bands, groups) + shift, 4, 8);
    c_stride = next(rows + 16 / item - 1, 16 / item, 128 / item);
    b = next(item * bands.fetched_a() * a_stride, 0, 16);
    nothing = b + item * bands.b_width * b_stride;
    pieces = next(std::max(nothing + item * b_stride, item * bands.c_width() * c_stride), 0, 16);
    a_at = pieces + static_cast<int>(sizeof(Piece)) * bands.c_width();
    b_at = a_at + 4 * (a_front + table);
    c_at = b_at + 4 * (b_front + table);
    total = c_at + 4 * (c_front + c_table());
  }

  __host__ __device__ int c_table() const { return 2 * table - 8; }
};

// c += a b on a 16 x 4, a 4 x 8 and a 16 x 8 tile spread over a warp.
inline __device__ void multiply_tile(double (&c)[4], double a0, double a1, double b) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a0), "d"(a1), "d"(b));
#else
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a0), "d"(b));
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[2]), "+d"(c[3])
               : "d"(a1), "d"(b));
#endif
}

template <class T>
__device__ double part(T v, int which) {
  if constexpr (is_complex<T>) return which == 0 ? v.re : v.im;
  else return v;
}

// 16 x 8 of C; im only where C is complex.
template <class T>
struct Tile {
  double re[4] = {};
  double im[is_complex<T> ? 4 : 1] = {};

  __device__ void add(T low, T high, T right) {
    multiply_tile(re, part(low, 0), part(high, 0), part(right, 0));
    if constexpr (is_complex<T>) {
      multiply_tile(im, low.re, high.re, right.im);
      multiply_tile(im, low.im, high.im, right.re);
      multiply_tile(re, -low.im, -high.im, right.im);
    }
  }
  __device__ T value(int which) const {
    using R = Real<T>;
    if constexpr (is_complex<T>) return {static_cast<R>(re[which]), static_cast<R>(im[which])};
    else return static_cast<R>(re[which]);
  }
};

// Tiles First ... First + Count - 1 of a warp's 16 rows of C, a row of tiles, from all rows k of B. Lane l has A[l / 4,
// k] and A[l / 4 + 8, k], B[k, l / 4], and of C the columns l % 4 * 2 and the next, for k = l % 4 of four rows.
//
// a: where A's lines begin. right: where B's values of the first step are, for each of a step's tiles and each half of
// its eight rows. Bytes from `memory`, which is where the warp's rows begin.
template <int First, int Tiles, int Count, class T>
inline __device__ void add_tiles(Tile<T> (&sums)[Count], const Bands& bands, const char* memory, const int* a,
                                 const int (&right)[Tiles][2], bool conj_a, bool conj_b) {
  constexpr int item = sizeof(T), begin = First < Tiles ? 0 : First - Tiles + 1;  // the first step that adds to them
  const int row = threadIdx.x % 32 / 4, inner = threadIdx.x % 4, steps = bands.inner_steps();
  const auto at = [&](int place, bool conj) { return conjugate_if(conj, *reinterpret_cast<const T*>(memory + place)); };
#pragma unroll
  for (int g = begin; g <= Tiles && g < First + Count; ++g) {
    if (g >= steps) break;
    const unsigned wanted = bands.tiles_of_step(g);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int* line = a + 8 * g + 4 * half + inner - row;
      const T low = at(line[0] + item * row, conj_a), high = at(line[-8] + item * (row + 8), conj_a);
#pragma unroll
      for (int t = 0; t < Tiles; ++t) {
        if (g + t < First || g + t >= First + Count || (wanted >> t & 1) == 0) continue;
        sums[g + t - First].add(low, high, at(right[t][half] + 8 * item * g, conj_b));
      }
    }
  }
}

// C[i, i + line] over the stored pairs alone, `line` counted from C's first.
template <class T>
__device__ __noinline__ T stored_sum(const Bands& bands, const T* a, bool conj_a, const T* b, bool conj_b, int64 i,
                                     int line) {
  T sum{};
  for (int d = max(0, line - bands.b_width + 1); d < bands.a_width && d <= line; ++d) {
    const Piece left = piece_of(bands.a(d), i, 1, bands),
                right = piece_of(bands.b(line - d), i + bands.a_low + d, 1, bands);
    if (!left.holds(0) || !right.holds(0)) continue;
    sum += multiply(conjugate_if(conj_a, a[left.place(0, bands.n)]), conjugate_if(conj_b, b[right.place(0, bands.n)]));
  }
  return sum;
}

// As finite(), but not on the units that multiply the tiles.
inline __device__ bool is_finite(double v) { return (__double2hiint(v) & 0x7ff00000) != 0x7ff00000; }
inline __device__ bool is_finite(float v) { return (__float_as_int(v) & 0x7f800000) != 0x7f800000; }
template <class R>
inline __device__ bool is_finite(Complex<R> v) {
  return is_finite(v.re) && is_finite(v.im);
}

}  // namespace diagsparse::cuda
