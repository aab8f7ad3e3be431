// Tiles of bands on the FP64 matrix units: what kernel "band" is made of.
#pragma once

#include <algorithm>
#include <functional>

#include "device/fetch.cuh"
#include "device/matrix_units.cuh"
#include "kernels/band/diagonals.hpp"

namespace diagsparse::cuda::band {

constexpr int kWarpRows = 16;  // rows of C a warp

struct Bands {
  const Diagonal* diagonals;  // A's, B's and C's, with some that are not stored around C's
  int a_width, b_width;
  int tile, tile_end;             // of C, that have diagonals to be written
  int64 a_low;                    // offset of A's first diagonal
  int64 inner_first, inner_last;  // rows between which all diagonals that are stored lie in full
  int64 rows, n;                  // of C; of a cyclic diagonal
  bool cyclic;
  bool mirrored;  // B is A transposed: A's values are found among B's
  int step;       // rows from block to block: fewer than it has where diagonals begin beside the borders of kWritten

  __device__ Diagonal a(int d) const { return diagonals[d]; }
  __device__ Diagonal b(int e) const { return diagonals[a_width + e]; }
  __device__ Diagonal c(int l) const { return diagonals[a_width + b_width + kWarpRows - 1 + l]; }
  __host__ __device__ int c_width() const { return a_width + b_width - 1; }
  __host__ __device__ int fetched_a() const { return mirrored ? 0 : a_width; }  // A's diagonals in shared memory
  // Steps of 8 rows k of B that a warp meets.
  __host__ __device__ int inner_steps() const { return (kWarpRows - 1 + a_width + 7) / 8; }
  // Bit t: in this step B's tile t adds to a tile of C that is wanted, number step + t.
  __device__ unsigned tiles_of_step(int step) const {
    const unsigned of_b = (1u << tiles_of(b_width)) - 1, of_c = (1u << tile_end) - (1u << tile);
    return of_c >> step & of_b;
  }
};

// Appends the diagonals of a product as the kernels read them: A's, B's and C's, with some that are not stored around
// C's.
inline void append_diagonals(std::vector<Diagonal>& all, const Band& a, const Band& b, const Band& c) {
  constexpr int around = 256;  // more than a block's threads, and than the tables go beyond C's
  all.insert(all.end(), a.diagonals.begin(), a.diagonals.end());
  all.insert(all.end(), b.diagonals.begin(), b.diagonals.end());
  all.insert(all.end(), kWarpRows - 1, Diagonal{});
  all.insert(all.end(), c.diagonals.begin(), c.diagonals.end());
  all.insert(all.end(), around, Diagonal{});
}

// All but where the diagonals are, and what operands and the launch decide.
inline Bands bands_without_diagonals(const Plan& plan, const Band& a, const Band& b, const Band& c) {
  const auto first = std::find_if(c.diagonals.begin(), c.diagonals.end(), std::mem_fn(&Diagonal::stored));
  const auto last = std::find_if(c.diagonals.rbegin(), c.diagonals.rend(), std::mem_fn(&Diagonal::stored));
  constexpr int64 beside = kSector;  // elements, that copies may read beside a section
  return {.diagonals = nullptr,
          .a_width = a.width(),
          .b_width = b.width(),
          .tile = static_cast<int>(first - c.diagonals.begin()) / 8,
          .tile_end = static_cast<int>(c.diagonals.rend() - last + kWarpRows - 2) / 8 + 1,
          .a_low = a.low,
          .inner_first = std::max({a.first(), b.first() - a.low, c.first()}) + beside,
          .inner_last = std::min({a.last(), b.last() - a.low, c.last()}) - beside,
          .rows = plan.rows,
          .n = plan.rows,
          .cyclic = a.cyclic,
          .mirrored = false,
          .step = 0};
}

// Rows of B that a block of `groups` times 16 rows meets.
inline __host__ __device__ int met_rows(const Bands& bands, int groups) {
  return (groups - 1) * kWarpRows + 8 * bands.inner_steps();
}

// The part of a diagonal that one block sees: its element x is values[at + x] for first <= x < last, and n less from
// x = wrap on, where a cyclic diagonal passes its end.
struct alignas(16) Section {
  int64 at;
  std::int16_t first, last, wrap;

  __device__ bool stored() const { return first < last; }
  __device__ bool holds(int x) const { return x >= first && x < last; }
  __device__ int64 place(int x, int64 n) const { return at + x - (x >= wrap ? n : 0); }
};

// Elements x0 ... x0 + count - 1 of the diagonal; count <= n.
inline __device__ Section section_of(const Diagonal& diagonal, int64 x0, int count, const Bands& bands) {
  const auto clamp = [&](int64 x) { return static_cast<std::int16_t>(min(max(x - x0, int64(0)), int64(count))); };
  const auto all = static_cast<std::int16_t>(count);
  if (!diagonal.stored()) return {0, 0, 0, 0};
  if (!bands.cyclic) return {diagonal.base + x0, clamp(diagonal.first), clamp(diagonal.last), all};
  const int64 n = bands.n, start = ((x0 - diagonal.first + n - diagonal.last) % n + n) % n;
  return {diagonal.base + diagonal.first + diagonal.last - n + start, 0, all,
          static_cast<std::int16_t>(min(n - start, int64(count)))};
}

// The same between inner_first and inner_last.
inline __device__ Section inner_section(const Diagonal& diagonal, int64 x0, int count) {
  const auto all = static_cast<std::int16_t>(diagonal.stored() ? count : 0);
  return {diagonal.base + x0, 0, all, all};
}

// Bytes of memory that are written by one block: sectors; where products take longer than copies, what a bulk copy
// takes, so that fewer rows are computed twice. (n = 10^6, 41 diagonals, hm: float64 381 against 386 us, complex64 832
// against 782.)
template <class T>
constexpr int kWritten = std::is_same_v<T, double> ? kSector : 16;

// What a block, of this number down C, writes of a diagonal of C of which it computes `section`; the rest is its
// neighbours'.
template <class T>
inline __device__ Section written(Section section, const Diagonal& diagonal, const T* c, const Bands& bands,
                                  unsigned block) {
  constexpr int item = sizeof(T), together = kWritten<T> / item;
  const int late = (together - since_border(c + diagonal.base, kWritten<T>) / item) % together;
  if (block > 0) section.first = max(static_cast<int>(section.first), late);
  section.last = min(static_cast<int>(section.last), bands.step + late);
  return section;
}

// A block's shared memory. C's diagonals take the place of A's, B's and the zeros when these are done with:
//
//                while tiles are multiplied             then
//            0 +-----------------------------+--------------------------+
//              | . . a a a a a a a a .       |  . c c c c c c c c       |  A's diagonals a_stride apart, B's b_stride,
//              | . a a a a a a a a . .       |  c c c c c c c c .       |  C's c_stride; A's are left out where they
//            b +-----------------------------+  . c c c c c c c c       |  are found among B's (then b = 0)
//              | . . . b b b b b b b b b b . |  . c c c c c c c c       |
//              | b b b b b b b b b b . . . . |         ...              |
//      nothing +-----------------------------+                          |
//              | 0 0 0 0 0 0 0 0 0 0 0 0 0 0 |                          |  stands for every diagonal that is not stored
//     sections +-----------------------------+--------------------------+
//              | what the block computes of each diagonal of C          |  c_width() Sections
//         a_at +--------------------------------------------------------+
//              | -15 ... -1 | 0 ... table - 1                           |  tables: where each diagonal begins, also of
//         b_at +--------------------------------------------------------+  those beside the operands and the result,
//              |  -7 ... -1 | 0 ... table - 1                           |  which tiles at the edges reach: A's and B's
//         c_at +--------------------------------------------------------+  are `nothing` there, C's -1
//              | -15 ... -1 | 0 ... c_table() - 1                       |
//        total +--------------------------------------------------------+
//
// A diagonal begins as far behind a border as it does in global memory (A's and B's of 32 bytes, C's of 16): the dots.
// Places and strides: bytes from the beginning, and elements.
struct Room {
  int a_stride, b_stride, c_stride;
  int b, nothing, sections, a_at, b_at, c_at, table, total;

  static constexpr int a_front = kWarpRows - 1, b_front = 7, c_front = kWarpRows - 1;  // of the tables

  // `table` diagonals of each operand. The strides keep the skewed accesses to the tiles' fragments free of bank
  // conflicts.
  Room(const Bands& bands, int item, int groups, int table) : table(table) {
    const auto next = [](int least, int rest, int step) { return least + (rest - least % step + step) % step; };
    const int rows = groups * kWarpRows, shift = kSector / item - 1;  // room for diagonals that begin behind a border
    a_stride = next(rows + shift, 32 / item, 64 / item);
    b_stride = next(met_rows(bands, groups) + shift, 4, 8);
    c_stride = next(rows + 16 / item - 1, 16 / item, 128 / item);
    b = next(item * bands.fetched_a() * a_stride, 0, 16);
    nothing = b + item * bands.b_width * b_stride;
    sections = next(std::max(nothing + item * b_stride, item * bands.c_width() * c_stride), 0, 16);
    a_at = sections + static_cast<int>(sizeof(Section)) * bands.c_width();
    b_at = a_at + 4 * (a_front + table);
    c_at = b_at + 4 * (b_front + table);
    total = c_at + 4 * (c_front + c_table());
  }

  __host__ __device__ int c_table() const { return 2 * table - 8; }
};

// Tiles First ... First + Count - 1 of a warp's 16 rows of C, a row of tiles, from all rows k of B. Lane l has A[l / 4,
// k] and A[l / 4 + 8, k], B[k, l / 4], and of C the columns l % 4 * 2 and the next, for k = l % 4 of four rows.
//
// a: where A's diagonals begin. right: where B's values of the first step are, for each of a step's tiles and each half
// of its eight rows. Bytes from `memory`, which is where the warp's rows begin.
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
      const int* left = a + 8 * g + 4 * half + inner - row;
      const T low = at(left[0] + item * row, conj_a), high = at(left[-8] + item * (row + 8), conj_a);
#pragma unroll
      for (int t = 0; t < Tiles; ++t) {
        if (g + t < First || g + t >= First + Count || (wanted >> t & 1) == 0) continue;
        sums[g + t - First].add(low, high, at(right[t][half] + 8 * item * g, conj_b));
      }
    }
  }
}

// C[i, i + diagonal] over the stored pairs alone, `diagonal` counted from C's first.
template <class T>
__device__ __noinline__ T stored_sum(const Bands& bands, const T* a, bool conj_a, const T* b, bool conj_b, int64 i,
                                     int diagonal) {
  T sum{};
  for (int d = max(0, diagonal - bands.b_width + 1); d < bands.a_width && d <= diagonal; ++d) {
    const Section left = section_of(bands.a(d), i, 1, bands),
                  right = section_of(bands.b(diagonal - d), i + bands.a_low + d, 1, bands);
    if (!left.holds(0) || !right.holds(0)) continue;
    sum += multiply(conjugate_if(conj_a, a[left.place(0, bands.n)]), conjugate_if(conj_b, b[right.place(0, bands.n)]));
  }
  return sum;
}

}  // namespace diagsparse::cuda::band
