// Tiles of bands on the FP64 matrix units: what kernel "band" is made of.
#pragma once

#include "fetch.cuh"
#include "kernels/band_lines.hpp"

namespace diagsparse::cuda {

constexpr int kWarpRows = 16;  // rows of C a warp

struct Bands {
  const Line *a, *b, *c;
  int a_width, b_width;
  int step, step_end;  // in which C has lines to be written
  int64 a_low;         // offset of A's first line
  int64 rows, n;       // of C; of a cyclic line
  bool cyclic;
  bool mirrored;           // B is A transposed: A's values are found among B's
  int a_stride, b_stride;  // in shared memory, between lines

  __host__ __device__ int c_width() const { return a_width + b_width - 1; }
  __host__ __device__ int fetched_a() const { return mirrored ? 0 : a_width; }  // A's lines in shared memory
  // Steps of 8 rows k in which a warp multiplies; after which all tiles are written.
  __host__ __device__ int inner_steps() const { return (kWarpRows - 1 + a_width + 7) / 8; }
  __host__ __device__ int steps() const { return (c_width() + kWarpRows - 2) / 8 + 1; }
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

  __device__ bool holds(int x) const { return x >= first && x < last; }
  __device__ bool whole(int count) const { return first == 0 && last == count && wrap == count; }
  __device__ int64 place(int x, int64 n) const { return at + x - (x >= wrap ? n : 0); }
};

// Elements x0 ... x0 + count - 1 of the line; count <= n.
inline __device__ Piece piece_of(const Line& line, int64 x0, int count, const Bands& bands) {
  const auto clamp = [&](int64 x) { return static_cast<std::int16_t>(min(max(x - x0, int64(0)), int64(count))); };
  const auto all = static_cast<std::int16_t>(count);
  if (line.last <= line.first) return {0, 0, 0, 0};
  if (!bands.cyclic) return {line.base + x0, clamp(line.first), clamp(line.last), all};
  const int64 start = ((x0 + line.first) % bands.n + bands.n) % bands.n;
  return {line.base + start, 0, all, static_cast<std::int16_t>(min(bands.n - start, int64(count)))};
}

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

// What a warp reads in shared memory, A[row, k] and B[k, column], counted from the first row and k that it meets. Line
// d of A begins at memory + a[d] bytes, line e of B at memory + b[e]; what lies beside the band leads to zeros.
template <class T>
struct WarpBands {
  const Bands& bands;
  const char* memory;
  const int *a, *b;
  bool conj_a, conj_b;

  __device__ T at(int place) const { return *reinterpret_cast<const T*>(memory + place); }
  __device__ T left(int row, int k) const {
    return conjugate_if(conj_a, at(a[k - row] + static_cast<int>(sizeof(T)) * row));
  }

  // C[row, row + line] over the stored pairs alone, `line` counted from C's first; i: row's number in the matrix.
  __device__ T alone(int row, int64 i, int line) const {
    T sum{};
    for (int d = max(0, line - bands.b_width + 1); d < bands.a_width && d <= line; ++d) {
      const int64 k = i + bands.a_low + d;
      if (!piece_of(bands.a[d], i, 1, bands).holds(0) || !piece_of(bands.b[line - d], k, 1, bands).holds(0)) continue;
      const T right = at(b[line - d] + static_cast<int>(sizeof(T)) * (row + d));
      sum += multiply(left(row, row + d), conjugate_if(conj_b, right));
    }
    return sum;
  }
};

// As finite(), but not on the units that multiply the tiles.
inline __device__ bool is_finite(double v) { return (__double2hiint(v) & 0x7ff00000) != 0x7ff00000; }
inline __device__ bool is_finite(float v) { return (__float_as_int(v) & 0x7f800000) != 0x7f800000; }
template <class R>
inline __device__ bool is_finite(Complex<R> v) {
  return is_finite(v.re) && is_finite(v.im);
}

}  // namespace diagsparse::cuda
