// Tiles of bands on the FP64 matrix units: what kernel "band" is made of.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "core/arithmetic.hpp"
#include "kernels/band_lines.hpp"

namespace diagsparse::cuda {

constexpr int kWarpRows = 16;  // rows of C a warp

struct Bands {
  const Line *a, *b, *c;
  int a_width, b_width;
  int64 a_low;    // offset of A's first line
  int64 rows, n;  // of C; of a cyclic line
  bool cyclic;
  int a_stride, b_stride;  // in shared memory, between lines
};

// Where element x of a line lies, -1: it is not stored.
inline __device__ int64 find(const Line& line, int64 x, bool cyclic, int64 n) {
  if (!cyclic) return x >= line.first && x < line.last ? line.base + x : -1;
  if (line.last <= line.first) return -1;
  x += line.first;
  x = x < 0 ? x + n : x >= n ? x - n : x;
  return line.base + (x >= n ? x - n : x);
}

// shared[0 ... count) = elements x0, x0 + 1, ... of the line, zeros where nothing is stored. One warp, asynchronous.
template <class T>
__device__ void fetch(T* shared, const T* values, const Line& line, int64 x0, int count, const Bands& bands) {
  const int lane = threadIdx.x % 32;
  const auto copy = [&](int t, const T* from, bool stored) {
    __pipeline_memcpy_async(shared + t, stored ? from : values, sizeof(T), stored ? 0 : sizeof(T));
  };
  if (bands.cyclic) {
    for (int t = lane; t < count; t += 32) {
      const int64 at = find(line, x0 + t, true, bands.n);
      copy(t, values + at, at >= 0);
    }
  } else {
    const int first = static_cast<int>(min(max(line.first - x0, int64(0)), int64(count)));
    const int last = static_cast<int>(min(max(line.last - x0, int64(0)), int64(count)));
    const T* from = values + line.base + x0;
    for (int t = lane; t < count; t += 32) copy(t, from + t, t >= first && t < last);
  }
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
};

template <class U, class V>
struct BandProduct {
  using T = Product<U, V>;

  const Bands& bands;
  const U* a;  // in shared memory: line d of A at a + d a_stride, from the warp's first row on
  const V* b;  // line e of B at b + e b_stride, from the first row k that the warp meets
  bool conj_a, conj_b;

  // A[row, column] and B[k, column], all counted from the first that the warp meets.
  __device__ U left(int row, int column) const {
    const int d = column - row;
    return d >= 0 && d < bands.a_width ? conjugate_if(conj_a, a[d * bands.a_stride + row]) : U{};
  }
  __device__ V right(int e, int k) const {
    return e >= 0 && e < bands.b_width ? conjugate_if(conj_b, b[e * bands.b_stride + k]) : V{};
  }

  // Adds columns [k, k + 4) of A times these rows of B, k = 8 g + 4 half, to the open tiles: tile t holds columns
  // 8 (g + t) .... Which lines of B a thread reads does not depend on g.
  template <int Tiles>
  __device__ void step(Tile<T> (&tiles)[Tiles], int g, int half) const {
    const int lane = threadIdx.x % 32, row = lane / 4, inner = 4 * half + lane % 4, k = 8 * g + inner;
    const U low = left(row, k), high = left(row + 8, k);
#pragma unroll
    for (int t = 0; t < Tiles; ++t) {
      const V v = right(8 * t + row - inner, k);
      multiply_tile(tiles[t].re, part(low, 0), part(high, 0), part(v, 0));
      if constexpr (is_complex<V>) multiply_tile(tiles[t].im, part(low, 0), part(high, 0), v.im);
      if constexpr (is_complex<U>) multiply_tile(tiles[t].im, low.im, high.im, part(v, 0));
      if constexpr (is_complex<U> && is_complex<V>) multiply_tile(tiles[t].re, -low.im, -high.im, v.im);
    }
  }

  // C[row, row + offset] over the stored pairs alone, for `offset` counted from C's first; i: row's number in the
  // matrix.
  __device__ T alone(int row, int64 i, int offset) const {
    T sum{};
    for (int d = 0; d < bands.a_width; ++d) {
      const int e = offset - d;
      if (e < 0 || e >= bands.b_width) continue;
      if (find(bands.a[d], i, bands.cyclic, bands.n) < 0) continue;
      if (find(bands.b[e], i + bands.a_low + d, bands.cyclic, bands.n) < 0) continue;
      sum += multiply(left(row, row + d), right(e, row + d));
    }
    return sum;
  }
};

template <class T>
__device__ T value_of(const Tile<T>& tile, int which) {
  using R = Real<T>;
  if constexpr (is_complex<T>) return {static_cast<R>(tile.re[which]), static_cast<R>(tile.im[which])};
  else return static_cast<R>(tile.re[which]);
}

}  // namespace diagsparse::cuda
