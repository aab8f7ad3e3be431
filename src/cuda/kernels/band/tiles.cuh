// Tiles of bands on the FP64 matrix units: data structures and inner loop of kernel "band".
#pragma once

#include <algorithm>

#include "device/fetch.cuh"
#include "device/matrix_units.cuh"
#include "kernels/band/diagonals.hpp"

namespace diagsparse::cuda::band {

constexpr int kWarpRows = 16;  // rows of C per warp

struct Bands {
  const Diagonal* diagonals;  // A's, B's and C's, with diagonals that are not stored before and after C's
  int a_width, b_width;
  int tile, tile_end;             // range of the tiles of C that contain diagonals to write
  int64 a_low;                    // offset of A's first diagonal
  int apart;                      // distance between the offsets of neighbouring diagonals
  int64 inner_first, inner_last;  // range of rows in which all stored diagonals are complete
  int64 rows, n;                  // rows of C; length of a cyclic diagonal
  bool cyclic;
  bool mirrored;  // B is A transposed: A's values are read from B's diagonals
  int step;       // distance between blocks in rows: less than a block computes if diagonals are not aligned to
                  // kWritten bytes

  __device__ Diagonal a(int d) const { return diagonals[d]; }
  __device__ Diagonal b(int e) const { return diagonals[a_width + e]; }
  __device__ Diagonal c(int l) const { return diagonals[a_width + b_width + kWarpRows - 1 + l]; }
  __host__ __device__ int c_width() const { return a_width + b_width - 1; }
  __host__ __device__ int fetched_a() const { return mirrored ? 0 : a_width; }  // diagonals of A in shared memory
  // Number of steps of 8 rows k of B that a warp processes.
  __host__ __device__ int inner_steps() const { return (kWarpRows - 1 + a_width + 7) / 8; }
  // Bit t: in this step, tile t of B is added to a tile of C that is needed, number step + t.
  __device__ unsigned tiles_of_step(int step) const {
    const unsigned of_b = (1u << tiles_of(b_width)) - 1, of_c = (1u << tile_end) - (1u << tile);
    return of_c >> step & of_b;
  }
};

// Appends the diagonals of a product in the order in which the kernels read them: A's, B's and C's, with diagonals that
// are not stored before and after C's.
inline void append_diagonals(std::vector<Diagonal>& all, const Band& a, const Band& b, const Band& c) {
  constexpr int around = 256;  // more than the threads of a block, and than the tables extend beyond C's diagonals
  all.insert(all.end(), a.diagonals.begin(), a.diagonals.end());
  all.insert(all.end(), b.diagonals.begin(), b.diagonals.end());
  all.insert(all.end(), kWarpRows - 1, Diagonal{});
  all.insert(all.end(), c.diagonals.begin(), c.diagonals.end());
  all.insert(all.end(), around, Diagonal{});
}

// All members except the pointer to the diagonals and what depends on operands and launch.
inline Bands bands_without_diagonals(const Plan& plan, const Band& a, const Band& b, const Band& c) {
  const auto first = std::find_if(c.diagonals.begin(), c.diagonals.end(), std::mem_fn(&Diagonal::stored));
  const auto last = std::find_if(c.diagonals.rbegin(), c.diagonals.rend(), std::mem_fn(&Diagonal::stored));
  constexpr int64 margin = kSector;  // elements that copies may read outside of a section
  return {.diagonals = nullptr,
          .a_width = a.width(),
          .b_width = b.width(),
          .tile = static_cast<int>(first - c.diagonals.begin()) / 8,
          .tile_end = static_cast<int>(c.diagonals.rend() - last + kWarpRows - 2) / 8 + 1,
          .a_low = a.low,
          .apart = static_cast<int>(a.apart),
          .inner_first = std::max({a.first(), b.first() - a.low, c.first()}) + margin,
          .inner_last = std::min({a.last(), b.last() - a.low, c.last()}) - margin,
          .rows = plan.rows,
          .n = plan.rows,
          .cyclic = a.cyclic,
          .mirrored = false,
          .step = 0};
}

// Number of rows of B that a block of `groups` times 16 rows needs.
inline __host__ __device__ int rows_of_b(const Bands& bands, int groups) {
  return (groups - bands.apart) * kWarpRows + 8 * bands.apart * bands.inner_steps();
}

// The part of a diagonal that a block processes: its element x is values[at + x] for first <= x < last, and n less from
// x = wrap on, where a cyclic diagonal passes its end.
struct alignas(16) Section {
  int64 at;
  std::int16_t first, last, wrap;

  __device__ bool stored() const { return first < last; }
  __device__ bool holds(int x) const { return x >= first && x < last; }
  __device__ int64 position(int x, int64 n) const { return at + x - (x >= wrap ? n : 0); }
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

// Number of bytes that must be written by the same block: a sector. If products take longer than copies, the
// granularity of a bulk copy is used, so that fewer rows are computed twice. (n = 10^6, 41 diagonals, hm: float64 381
// against 386 us, complex64 832 against 782.)
template <class T>
constexpr int kWritten = std::is_same_v<T, double> ? kSector : 16;

// The part of `section`, computed from a diagonal of C by this block (number `block` down C), that the block writes.
// Its neighbours write the rest.
template <class T>
inline __device__ Section written(Section section, const Diagonal& diagonal, const T* c, const Bands& bands,
                                  unsigned block) {
  constexpr int item = sizeof(T), unit = kWritten<T> / item;
  const int late = (unit - since_border(c + diagonal.base, kWritten<T>) / item) % unit;
  if (block > 0) section.first = max(static_cast<int>(section.first), late);
  section.last = min(static_cast<int>(section.last), bands.step + late);
  return section;
}

// The shared memory of a block. C's diagonals overwrite A's, B's and the zeros when these are no longer needed:
//
//                while tiles are multiplied             then
//            0 +-----------------------------+--------------------------+
//              | . . a a a a a a a a .       |  . c c c c c c c c       |  A's diagonals a_stride apart, B's b_stride,
//              | . a a a a a a a a . .       |  c c c c c c c c .       |  C's c_stride; A's are absent if they are
//            b +-----------------------------+  . c c c c c c c c       |  read from B's (then b = 0)
//              | . . . b b b b b b b b b b . |  . c c c c c c c c       |
//              | b b b b b b b b b b . . . . |         ...              |
//        zeros +-----------------------------+                          |
//              | 0 0 0 0 0 0 0 0 0 0 0 0 0 0 |                          |  used for every diagonal that is not stored
//     sections +-----------------------------+--------------------------+
//              | what the block computes of each diagonal of C          |  c_width() Sections
//         a_at +--------------------------------------------------------+
//              | -15 ... -1 | 0 ... table - 1                           |  tables: where each diagonal begins, and also
//         b_at +--------------------------------------------------------+  those outside of the operands and the result
//              |  -7 ... -1 | 0 ... table - 1                           |  that tiles at the edges reach: A's and B's
//         c_at +--------------------------------------------------------+  are `zeros` there, C's -1
//              | -15 ... -1 | 0 ... c_table() - 1                       |
//        total +--------------------------------------------------------+
//
// A diagonal has the same misalignment as in global memory (relative to 32 bytes for A and B, 16 for C): the dots.
// Positions are in bytes from the beginning, strides in elements.
struct SharedLayout {
  int a_stride, b_stride, c_stride;
  int b, zeros, sections, a_at, b_at, c_at, table, total;

  static constexpr int a_front = kWarpRows - 1, b_front = 7, c_front = kWarpRows - 1;  // entries of the tables before
                                                                                       // entry 0

  // `table` diagonals of each operand. The strides avoid bank conflicts in the skewed accesses to the tiles' fragments.
  SharedLayout(const Bands& bands, int item, int groups, int table) : table(table) {
    const auto next = [](int least, int rest, int step) { return least + (rest - least % step + step) % step; };
    const int rows = groups * kWarpRows, shift = kSector / item - 1;  // space for misaligned diagonals
    a_stride = next(rows + shift, 32 / item, 64 / item);
    b_stride = next(rows_of_b(bands, groups) + shift, 4, 8);
    c_stride = next(rows + 16 / item - 1, 16 / item, 128 / item);
    b = next(item * bands.fetched_a() * a_stride, 0, 16);
    zeros = b + item * bands.b_width * b_stride;
    sections = next(std::max(zeros + item * b_stride, item * bands.c_width() * c_stride), 0, 16);
    a_at = sections + static_cast<int>(sizeof(Section)) * bands.c_width();
    b_at = a_at + 4 * (a_front + table);
    c_at = b_at + 4 * (b_front + table);
    total = c_at + 4 * (c_front + c_table());
  }

  __host__ __device__ int c_table() const { return 2 * table - 8; }
};

// Computes tiles First ... First + Count - 1 of a warp's 16 rows of C (a row of tiles) from all rows k of B. Lane l
// reads A[l / 4, k], A[l / 4 + 8, k] and B[k, l / 4] for k = l % 4 of each four rows, and holds columns l % 4 * 2 and
// the next of C.
//
// apart: distance between a warp's rows. a: where A's diagonals begin. right: where B's values of the first step are,
// for each tile of a step and each half of its eight rows. Both in bytes from `memory`, where the warp's rows begin.
template <int First, int Tiles, int Count, class T>
inline __device__ void add_tiles(Tile<T> (&sums)[Count], const Bands& bands, int apart, const char* memory,
                                 const int* a, const int (&right)[Tiles][2], bool conj_a, bool conj_b) {
  constexpr int begin = First < Tiles ? 0 : First - Tiles + 1;  // the first step that contributes to these tiles
  const int item = static_cast<int>(sizeof(T)) * apart;         // from a row of the warp to the next
  const int row = threadIdx.x % 32 / 4, inner = threadIdx.x % 4, steps = bands.inner_steps();
  const auto at = [&](int position, bool conj) {
    return conjugate_if(conj, *reinterpret_cast<const T*>(memory + position));
  };
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

// C[i, i + diagonal] from the stored pairs only. `diagonal` counts from C's first.
template <class T>
__device__ __noinline__ T stored_sum(const Bands& bands, const T* a, bool conj_a, const T* b, bool conj_b, int64 i,
                                     int diagonal) {
  T sum{};
  for (int d = max(0, diagonal - bands.b_width + 1); d < bands.a_width && d <= diagonal; ++d) {
    const Section left = section_of(bands.a(d), i, 1, bands),
                  right = section_of(bands.b(diagonal - d), i + bands.a_low + static_cast<int64>(bands.apart) * d, 1,
                                     bands);
    if (!left.holds(0) || !right.holds(0)) continue;
    sum += multiply(conjugate_if(conj_a, a[left.position(0, bands.n)]),
                    conjugate_if(conj_b, b[right.position(0, bands.n)]));
  }
  return sum;
}

}  // namespace diagsparse::cuda::band
