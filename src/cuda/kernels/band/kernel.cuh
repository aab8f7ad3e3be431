// The device code of kernel "band"; matmul.cu describes it.
#pragma once

#include <utility>

#include "device/values.cuh"
#include "kernels/band/tiles.cuh"

namespace diagsparse::cuda::band {

// Most groups of 16 rows per block. If offsets are apart, the rows of a group are, too, and groups interleave.
template <class T>
constexpr int most_groups(int tiles, bool apart = false) {
  return is_complex<T> && tiles <= (sizeof(T) == 8 ? 5 : 6) && !apart ? 2 : 4;
}
static_assert(kMostApart <= most_groups<double>(3, true));

// The rows of a block and their data in shared memory.
template <class T>
struct BandBlock {
  static constexpr int item = sizeof(T);

  const Bands& bands;
  const SharedLayout& shared_layout;
  char* shared;
  int rows, b_rows;  // rows of C, and of B
  unsigned number;   // number of the block, counted down C
  int64 i0 = static_cast<int64>(number) * bands.step;
  int mine = static_cast<int>(min(int64(rows), bands.rows - i0));
  bool inside = kBulkCopies && i0 >= bands.inner_first && i0 + b_rows <= bands.inner_last;
  int diagonals = min(bands.c_width(), 8 * bands.tile_end);  // diagonals of C
  Section* sections = reinterpret_cast<Section*>(shared + shared_layout.sections);
  int *a_at = reinterpret_cast<int*>(shared + shared_layout.a_at) + SharedLayout::a_front,
      *b_at = reinterpret_cast<int*>(shared + shared_layout.b_at) + SharedLayout::b_front,
      *c_at = reinterpret_cast<int*>(shared + shared_layout.c_at) + SharedLayout::c_front;

  // The diagonals of A and B are numbered together, those of C separately. Each thread processes one diagonal at a
  // time.
  __device__ static int front() { return static_cast<int>(threadIdx.x) - SharedLayout::c_front; }
  __device__ int fetched() const { return bands.fetched_a() + bands.b_width; }
  __device__ Diagonal operand(int l) const { return bands.a(bands.a_width - bands.fetched_a() + l); }

  // Starts the copies of the operands. `own`: the first diagonal of each thread.
  __device__ void copy_operands(Copies& copies, const Source<T>& a, const Source<T>& b, const Diagonal& own) const {
    const auto bytes = [](const T* p) { return reinterpret_cast<const char*>(p); };
    const int a_diagonals = bands.fetched_a();
    // Sets the table entry of diagonal l, whose values begin at `from`, and returns their address in shared memory.
    const auto set_position = [&](int l, const char* from, bool stored) {
      const int e = l - a_diagonals, d = bands.a_width - 1 - e;
      const int row = e < 0 ? item * l * shared_layout.a_stride : shared_layout.b + item * e * shared_layout.b_stride,
                position = row + since_border(from - row, kSector);
      (e < 0 ? a_at[l] : b_at[e]) = stored ? position : shared_layout.zeros;
      if (bands.mirrored) a_at[d] = stored ? position + item * bands.apart * d : shared_layout.zeros;
      return shared + position;
    };
    if (inside) {
#pragma unroll 1
      for (int l = across_warps(); l < fetched(); l += blockDim.x) {
        const Diagonal diagonal = l == across_warps() ? own : operand(l);
        const bool of_a = l < a_diagonals;
        const char* from = bytes((of_a ? a.values + i0 : b.values + i0 + bands.a_low) + diagonal.base);
        char* to = set_position(l, from, diagonal.stored());
        if (diagonal.stored()) copies.start(to, from, item * (of_a ? rows : b_rows));
      }
      return;
    }
#pragma unroll 1
    for (int l0 = 0; l0 < fetched(); l0 += blockDim.x) {
      const int l = l0 + across_warps();
      const bool of_a = l < a_diagonals;
      Copy copy{};
      if (l < fetched()) {
        const Section section =
            section_of(l0 == 0 ? own : operand(l), of_a ? i0 : i0 + bands.a_low, of_a ? mine : b_rows, bands);
        const T* values = of_a ? a.values : b.values;
        const char* from = bytes(values + section.at);
        char* to = set_position(l, from, section.stored());
        copy = {from,
                bytes(values),
                bytes(values + (of_a ? a.size : b.size)),
                to,
                item,
                of_a ? rows : b_rows,
                section.first,
                section.last,
                section.wrap};
      }
      const bool left = copy.stored() && !copies.start(copy);
      for (unsigned todo = __ballot_sync(~0u, left); todo != 0; todo &= todo - 1) {
        start_by_warp(copy_of_lane(copy, __ffs(todo) - 1), bands.n);
      }
    }
  }

  // Fills the rest of the tables and the zeros. `own`: the first diagonal of C of each thread.
  __device__ void prepare(const T* c, const Diagonal& own) const {
    for (int l = front(); l < shared_layout.c_table(); l += blockDim.x) {
      const Diagonal diagonal = l == front() ? own : bands.c(l);
      Section section = inside ? inner_section(diagonal, i0, rows) : section_of(diagonal, i0, mine, bands);
      if (bands.step < rows) section = written(section, diagonal, c, bands, number);
      const int row = item * l * shared_layout.c_stride;
      const auto to = reinterpret_cast<const char*>(c + section.at);
      c_at[l] = section.stored() ? row + since_border(to - row, 16) : -1;
      if (l >= 0 && l < diagonals) sections[l] = section;
      if (l < shared_layout.table) {
        if (l < 0 || l >= bands.a_width) a_at[l] = shared_layout.zeros;
        if (l >= -SharedLayout::b_front && (l < 0 || l >= bands.b_width)) b_at[l] = shared_layout.zeros;
      }
    }
    for (int x = threadIdx.x; x < shared_layout.b_stride; x += blockDim.x)
      reinterpret_cast<T*>(shared + shared_layout.zeros)[x] = T{};
  }

  __device__ const T* sums(int diagonal) const { return reinterpret_cast<const T*>(shared + c_at[diagonal]); }

  // Writes the diagonals of C unchanged; each thread writes one.
  __device__ void store(T* c) const {
    for (int l = across_warps(); l < diagonals; l += blockDim.x) {
      const Section section = sections[l];
      start_store(c + section.at, sums(l), section.first, min(section.last, section.wrap));
      if (section.wrap < section.last)
        start_store(c + section.at - bands.n, sums(l), max(section.first, section.wrap), section.last);
    }
    wait_for_stores();
  }

  // The same with alpha and beta. Sums that are not finite are recomputed: again(i, diagonal) returns one.
  template <class Again>
  __device__ void update(T* c, const Update<T>& update, const Again& again) const {
    for (int l = threadIdx.x / 32; l < diagonals; l += blockDim.x / 32) {
      const Section section = sections[l];
      for (int x = threadIdx.x % 32; x < section.last; x += 32) {
        if (x < section.first) continue;
        T sum = sums(l)[x];
        if (!is_finite(sum)) sum = again(i0 + x, l);
        update.one(c + section.position(x, bands.n), sum);
      }
    }
  }
};

// Number of blocks per multiprocessor to aim for, given the registers for the tiles and a few more. For narrow bands it
// assumes fewer registers, so that seven blocks fit. (n = 10^6, 11 diagonals: 103 us with six, 98 with seven.) So it
// does in single precision, where shared memory has room for another block. (One H100, 41 diagonals: float32 257
// instead of 284 us, complex64, together with blocks of 64 rows, 649 instead of 760.)
template <class T>
constexpr int band_blocks(int tiles, int count, int parts, bool apart) {
  int registers = is_complex<T> ? 16 * count + 48 : tiles == 3 && count == 6 ? 72 : 8 * count + 36;
  if (sizeof(Real<T>) == 4 && registers <= 144) registers = std::min(registers, 128);
  return std::max(1, 2048 / (most_groups<T>(tiles, apart) * parts * registers));
}

// A warp's part of a block: it computes `Count` tiles of its rows of C, starting at tile First + part * Count. `first`:
// the first of its rows in the block; the others follow at distances of `apart`.
struct WarpPart {
  int part, first, apart = 1;

  // The elements of a tile that belong to a lane.
  __device__ static int row() { return static_cast<int>(threadIdx.x) % 32 / 4; }
  __device__ static int inner() { return static_cast<int>(threadIdx.x) % 4; }
  __device__ static int column() { return 2 * inner(); }
};

// Adds the product of the bands in shared memory. Tiles: number of tiles in a row of B.
template <int Tiles, int First, int Count, int Parts, class T>
inline __device__ void add_band(Tile<T> (&sums)[Count], const BandBlock<T>& block, const WarpPart& warp, bool conj_a,
                                bool conj_b) {
  constexpr int item = sizeof(T);
  const int row = warp.row(), inner = warp.inner();
  int right[Tiles][2];
#pragma unroll
  for (int t = 0; t < Tiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int k = 4 * half + inner;
      right[t][half] = block.b_at[8 * t + row - k] + item * warp.apart * k;
      asm("" : "+r"(right[t][half]));  // holds it in a register instead of recomputing it in every step
    }
  }
  [&]<int... Part>(std::integer_sequence<int, Part...>) {
    const auto add = [&]<int P>() {
      add_tiles<First + P * Count>(sums, block.bands, warp.apart, block.shared + item * warp.first, block.a_at, right,
                                   conj_a, conj_b);
    };
    ((warp.part == Part ? add.template operator()<Part>() : void()), ...);
  }(std::make_integer_sequence<int, Parts>());
}

// Writes the diagonals of C through shared memory. again: see update().
template <int First, int Count, class T, class Again>
inline __device__ void write_band(const Tile<T> (&sums)[Count], const BandBlock<T>& block, const WarpPart& warp, T* c,
                                  const Update<T>& update, const Again& again) {
  constexpr int item = sizeof(T);
  __syncthreads();       // all warps have read A's and B's diagonals
  int at[Count + 1][2];  // start of the diagonals of C that contain this lane's columns, for the rows 8 below and for
                         // its own rows
#pragma unroll
  for (int t = 0; t <= Count; ++t) {
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      at[t][v] = block.c_at[8 * (First + warp.part * Count + t - 1) + warp.column() + v - warp.row()];
    }
  }
  bool non_finite = false;  // whether a sum is not finite
  char* own_rows = block.shared + item * (warp.first + warp.apart * warp.row());
#pragma unroll
  for (int t = 0; t < Count; ++t) {
    const int tile = First + warp.part * Count + t;
    if (tile < block.bands.tile || tile >= block.bands.tile_end) continue;
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      const int position = v < 2 ? at[t + 1][v] : at[t][v - 2], below = v < 2 ? 0 : 8 * warp.apart;
      const T sum = sums[t].value(v);
      if (position >= 0) *reinterpret_cast<T*>(own_rows + position + item * below) = sum;
      non_finite |= !is_finite(sum);
    }
  }
  before_copies();
  const bool careful = __syncthreads_or(non_finite) || !update.plain;
  if (kBulkCopies && !careful) block.store(c);
  else block.update(c, update, again);
}

// `Parts` warps process the same 16 rows, with `Count` tiles of C each. Apart: whether there are offsets between those
// of neighbouring diagonals.
template <int Tiles, int First, int Count, int Parts, bool Apart, class T>
__global__ void __launch_bounds__(32 * most_groups<T>(Tiles, Apart) * Parts,
                                  (band_blocks<T>(Tiles, Count, Parts, Apart)))
    band_tiles(const __grid_constant__ Bands bands, const __grid_constant__ SharedLayout shared_layout,
               const Source<T> a, bool conj_a, const Source<T> b, bool conj_b, T* c,
               const __grid_constant__ Update<T> update) {
  extern __shared__ __align__(kSector) char shared[];
  __shared__ Copies copies;
  const int groups = blockDim.x / (32 * Parts), own = threadIdx.x / 32;
  const int apart = Apart ? bands.apart : 1, group = own % groups;
  const WarpPart warp{own / groups, group / apart * apart * kWarpRows + group % apart, apart};
  const BandBlock<T> block{bands, shared_layout, shared, groups * kWarpRows, rows_of_b(bands, groups), blockIdx.x};
  const Diagonal own_operand = block.operand(across_warps()), own_result = bands.c(block.front());  // loaded ahead
  if (threadIdx.x == 0) copies.begin(blockDim.x);
  __syncthreads();
  block.copy_operands(copies, a, b, own_operand);
  block.prepare(c, own_result);
  copies.started();
  copies.wait(0);
  Tile<T> sums[Count];
  add_band<Tiles, First, Count, Parts>(sums, block, warp, conj_a, conj_b);
  write_band<First>(sums, block, warp, c, update, [&](int64 i, int diagonal) {
    return stored_sum(bands, a.values, conj_a, b.values, conj_b, i, diagonal);
  });
}

// Calls f with the smallest of these numbers of tiles that suffices, or with the last one.
template <int Tiles, int... More, class F>
void with_tiles(int tiles, const F& f) {
  if constexpr (sizeof...(More) == 0) f.template operator()<Tiles>();
  else if (tiles <= Tiles) f.template operator()<Tiles>();
  else with_tiles<More...>(tiles, f);
}

// Distance in rows between blocks that compute `rows` rows. It is smaller than `rows` if diagonals of C are not aligned
// to kWritten bytes, because blocks write only complete aligned units. c_bases: bitwise or of the indices at which C's
// diagonals start.
template <class T>
int row_step(int rows, int64 c_bases, const Matrix& c) {
  constexpr int unit = kWritten<T> / static_cast<int>(sizeof(T));
  const bool misaligned = c_bases % unit != 0 || reinterpret_cast<std::uintptr_t>(c.values.data) % kWritten<T> != 0;
  return rows - (misaligned ? unit : 0);
}

}  // namespace diagsparse::cuda::band
