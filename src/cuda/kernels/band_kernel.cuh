// The kernel behind "band"; matmul_band.cu says what it does.
#pragma once

#include "kernels/band_tiles.cuh"
#include "memory.cuh"

namespace diagsparse::cuda {

constexpr int kRing = 24, kRingStride = 18;  // diagonals of C on their way out, a warp's rows each

// A block's shared memory, in bytes from its beginning.
struct Room {
  int b, nothing, rings, pieces, a_at, b_at, total;

  __host__ __device__ Room(const Bands& bands, int item, int warps) {
    const auto next = [](int bytes) { return (bytes + 15) / 16 * 16; };
    b = next(item * bands.fetched_a() * bands.a_stride);
    nothing = b + item * bands.b_width * bands.b_stride;
    rings = next(nothing + item * bands.b_stride);
    pieces = next(rings + item * warps * kRing * kRingStride);
    a_at = pieces + static_cast<int>(sizeof(Piece)) * 8 * bands.steps();
    b_at = a_at + 4 * (kWarpRows - 1 + 8 * bands.inner_steps());
    total = b_at + 4 * bands.b_width;
  }
};

template <int Tiles, bool Split, class T>
__global__ void __launch_bounds__(Split ? 256 : 128, 1)
    band_tiles(const __grid_constant__ Bands bands, const Source<T> a, bool conj_a, const Source<T> b, bool conj_b,
               T* c, const __grid_constant__ Update<T> update) {
  static_assert(Tiles % 3 == 0);  // the ring turns once in three steps
  constexpr int item = sizeof(T);
  extern __shared__ __align__(kSector) char shared[];
  __shared__ Copies copies;
  __shared__ bool partial;  // a line of C that the block meets is not stored for all of its rows
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int groups = Split ? warps / 2 : warps, part = warp / groups;  // two warps share their rows
  const int rows = groups * kWarpRows, met = met_rows(bands, groups);  // of C, of B
  const Room room(bands, item, warps);
  Piece* pieces = reinterpret_cast<Piece*>(shared + room.pieces);  // of C; the first is that of line 1 - kWarpRows
  int *a_at = reinterpret_cast<int*>(shared + room.a_at) + kWarpRows - 1,
      *b_at = reinterpret_cast<int*>(shared + room.b_at);
  const int64 i0 = static_cast<int64>(blockIdx.x) * rows;
  const int mine = static_cast<int>(min(int64(rows), bands.rows - i0));
  // Line l of A and B together, and line of C; the first ones of each thread are read ahead.
  const int fetched_a = bands.fetched_a(), fetched = fetched_a + bands.b_width;
  const auto operand_line = [&](int l) {
    return l < fetched_a ? bands.a[l] : l < fetched ? bands.b[l - fetched_a] : Line{0, 0, 0};
  };
  const auto result_line = [&](int line) {
    return line >= 0 && line < bands.c_width() ? bands.c[line] : Line{0, 0, 0};
  };
  const int own = lane * warps + warp;  // all warps have as many copies to start
  const Line own_operand = operand_line(own), own_result = result_line(static_cast<int>(threadIdx.x) + 1 - kWarpRows);
  if (threadIdx.x == 0) {
    copies.begin(blockDim.x);
    partial = !update.plain || mine < rows;
  }
  __syncthreads();
  const auto bytes = [](const T* p) { return reinterpret_cast<const char*>(p); };
#pragma unroll 1
  for (int l0 = 0; l0 < fetched; l0 += blockDim.x) {
    const int l = l0 + own, e = l - fetched_a;
    const bool of_a = e < 0;
    const Piece piece =
        piece_of(l0 == 0 ? own_operand : operand_line(l), of_a ? i0 : i0 + bands.a_low, of_a ? mine : met, bands);
    const T* values = of_a ? a.values : b.values;
    const T* from = values + piece.at;
    const int row = of_a ? item * l * bands.a_stride : room.b + item * e * bands.b_stride,
              place = row + since_border(bytes(from) - row, kSector);
    const bool stored = piece.first < piece.last;
    if (l < fetched) {
      (of_a ? a_at[l] : b_at[e]) = stored ? place : room.nothing;
      const int d = bands.a_width - 1 - e;
      if (bands.mirrored) a_at[d] = stored ? place + item * d : room.nothing;
    }
    const char* end = bytes(values + (of_a ? a.size : b.size));
    const int count = of_a ? rows : met;
    const Run run{bytes(from), bytes(values), end, shared + place, item, count, piece.first, piece.last, piece.wrap};
    const bool left = stored && !copies.start(run);
    for (unsigned todo = __ballot_sync(~0u, left); todo != 0; todo &= todo - 1) {
      start_by_warp(run_of_lane(run, __ffs(todo) - 1), bands.n);
    }
  }
  for (int l = threadIdx.x; l < 8 * bands.steps(); l += blockDim.x) {
    Piece piece =
        piece_of(l == static_cast<int>(threadIdx.x) ? own_result : result_line(l + 1 - kWarpRows), i0, mine, bands);
    if (piece.last <= piece.first) piece.at = -1;
    else if (!piece.whole(rows)) partial = true;
    pieces[l] = piece;
  }
  for (int d = static_cast<int>(threadIdx.x) + 1 - kWarpRows; d < 8 * bands.inner_steps(); d += blockDim.x) {
    if (d < 0 || d >= bands.a_width) a_at[d] = room.nothing;
  }
  for (int x = threadIdx.x; x < bands.b_stride; x += blockDim.x) reinterpret_cast<T*>(shared + room.nothing)[x] = T{};
  copies.started();
  copies.wait(0);
  const bool whole = !partial;

  const int first = warp % groups * kWarpRows, row = lane / 4, inner = lane % 4, column = lane % 4 * 2;
  const int r = lane % 16, x = first + r;
  const WarpBands<T> meets{bands, shared + item * first, a_at, b_at, conj_a, conj_b};
  T* own_c = c + x;
  asm("" : "+l"(own_c));  // kept, not found anew in every step
  T* ring = reinterpret_cast<T*>(shared + room.rings) + warp * kRing * kRingStride;
  const auto place = [&](int slot, int r) { return (slot < 0 ? slot + kRing : slot) * kRingStride + r; };
  int right[Tiles][2];  // where B's values of a step are, for each open tile and each half of the step's eight rows
#pragma unroll
  for (int t = 0; t < Tiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int k = 4 * half + inner, e = 8 * t + row - k;
      right[t][half] = (static_cast<unsigned>(e) < bands.b_width ? b_at[e] : room.nothing) + item * k;
      asm("" : "+r"(right[t][half]));
    }
  }
  // The steps after which this warp writes what they complete.
  const int middle = (bands.step + bands.step_end) / 2;
  const int begin = part == 0 ? bands.step : middle, end = Split && part == 0 ? middle : bands.step_end;
  Tile<T> tiles[Tiles];  // tile t of step g is number (g + t) % Tiles
#pragma unroll 1
  for (int g0 = 0; g0 < end; g0 += Tiles) {
    unsigned long long wrong = 0;  // sums of these steps that are infinite or no numbers
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
      const int g = g0 + u, base = u % 3 * 8;
      if (g >= end) break;
      if (g + Tiles + 2 <= begin) continue;  // a step writes what the last three tiles hold
      if (g < bands.inner_steps()) {
        tiles[(u + Tiles - 1) % Tiles] = Tile<T>{};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int k = 8 * g + 4 * half + inner;
          const T low = meets.left(row, k), high = meets.left(row + 8, k);
#pragma unroll
          for (int t = 0; t < Tiles; ++t) {
            if (!Split || (g + t + 2 >= begin && g + t < end)) {
              tiles[(u + t) % Tiles].add(low, high, conjugate_if(conj_b, meets.at(right[t][half] + 8 * item * u)));
            }
          }
        }
      }
      // The first tile is complete: to the ring, by diagonals.
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const int r = row + (v < 2 ? 0 : 8);
        ring[place(base + column + v % 2 - r, r)] = tiles[u].value(v);
      }
      __syncwarp();
      if (g < begin) continue;
      // The diagonals that this completes, two at a time, a half of the warp each.
      T sums[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        sums[q] = ring[place(base + 1 - kWarpRows + 2 * q + lane / 16, r)];
        if (!is_finite(sums[q])) wrong |= 1ull << (4 * u + q);
      }
      const Piece* to = pieces + 8 * g + lane / 16;
      if (whole) {
        int64 at[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) at[q] = to[2 * q].at;
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          if (at[q] >= 0) store_once(own_c + at[q], sums[q]);
        }
      } else {
#pragma unroll 1
        for (int q = 0; q < 4; ++q) {
          const T sum = ring[place(base + 1 - kWarpRows + 2 * q + lane / 16, r)];
          if (is_finite(sum) && to[2 * q].holds(x)) update.one(c + to[2 * q].place(x, bands.n), sum);
        }
      }
      __syncwarp();
    }
    for (; wrong != 0; wrong &= wrong - 1) {
      const int bit = __ffsll(wrong) - 1, number = 8 * (g0 + bit / 4) + 2 * (bit % 4) + lane / 16;
      const Piece& to = pieces[number];
      if (to.holds(x)) update.one(c + to.place(x, bands.n), meets.alone(r, i0 + x, number + 1 - kWarpRows));
    }
#pragma unroll
    for (int t = 0; t < Tiles; ++t) {
#pragma unroll
      for (int half = 0; half < 2; ++half) right[t][half] += 8 * item * Tiles;
    }
  }
}

}  // namespace diagsparse::cuda
