// Kernel "grid": substitution with diagonals of a grid with two or three axes. A row is a point of the grid, and lines
// are rows one after the other. A block of threads computes a tile of neighbouring lines: a thread a line, each some
// steps behind the lines that it depends on.
//
// Groups of warps share the work, which is done in chunks of steps:
//
//   loaders   bring the diagonals, the reciprocals and the right-hand side to shared memory
//   readers   bring what other blocks have computed in the lines around the tile to shared memory
//   compute   one step after the other, in shared memory alone
//   writers   write the results to global memory
//
// Blocks start in order, so those that one waits for are running. Each row is computed in the same way on every run.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "kernels/triangles/rows.cuh"
#include "kernels/triangles/tiling.hpp"

namespace diagsparse::cuda::triangles {

template <class T>
struct Grid {
  const T* values;
  const T* inverse;
  Rows rows;
  bool conjugated;
  Last last;
  Tiling tiling;
  int count;
  GridTerm terms[kMostInGrid];
};

// Counters in shared memory: what was written before an increase is seen by those that have waited for it.
__device__ inline void await(const unsigned* counter, unsigned least) {
  unsigned v;
  do {
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];"
                 : "=r"(v)
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(counter)))
                 : "memory");
  } while (v < least);
}
__device__ inline void increase(unsigned* counter) {  // by one thread of a warp, after all of it
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    asm volatile(
        "red.release.cta.shared.add.u32 [%0], 1;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(counter)))
        : "memory");
  }
}

// A line of a tile, or next to it.
struct Line {
  bool valid;   // whether it is in the grid
  int64 first;  // its first row, in the order of substitution
};

// `state` has the number of tiles that were started, and for each writer of each tile the steps that it has written.
template <class T, int Count>
__global__ void __launch_bounds__(kMostThreads)
    substitute_grid(const __grid_constant__ Grid<T> t, T* x, int64 lead, unsigned* state) {
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned ticket, computed, loaded[kMostSlots], read[kMostReaders], written[kMostWriters];
  const Tiling& g = t.tiling;
  T* const results = reinterpret_cast<T*>(shared);  // [kRing][pitch]: of the last steps
  T* const operands = results + kRing * g.pitch;    // [slots][Count + 2][kSteps][step]
  const int lines = 32 * g.warps, step = lines + kGap<T>, stream = kSteps * step;
  const int count = Count < kMostInGrid ? Count : t.count, streams = count + 2;
  x += blockIdx.y * lead;
  state += blockIdx.y * (1 + g.tiles * g.writers);
  if (threadIdx.x == 0) {
    ticket = atomicAdd(state, 1u);
    computed = 0;
  }
  if (threadIdx.x < kMostSlots) loaded[threadIdx.x] = 0;
  if (threadIdx.x < kMostReaders) read[threadIdx.x] = 0;
  if (threadIdx.x < kMostWriters) written[threadIdx.x] = 0;
  for (int r = threadIdx.x; r < kRing * g.pitch; r += blockDim.x) results[r] = T{};
  __syncthreads();
  const int tile = static_cast<int>(ticket), at_y = tile % g.tiles_y * g.tile_y, at_z = tile / g.tiles_y * g.tile_z;
  unsigned* const done = state + 1;
  const auto line_at = [&](int y, int z) -> Line {
    const int of_y = at_y + y - g.shear * z, of_z = at_z + z;
    const bool valid = of_y >= 0 && of_y < g.lines && of_z >= 0 && of_z < g.planes;
    const int64 first = static_cast<int64>(of_z * g.lines + of_y) * g.line;
    return {valid && first < t.rows.count, first};
  };
  const auto inside = [&](const Line& l, int p) {
    return l.valid && p >= 0 && p < g.line && l.first + p < t.rows.count;
  };
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;

  if (warp < g.warps) {  // compute
    const int me = static_cast<int>(threadIdx.x), y = g.y_of(me), z = g.z_of(me), start = g.delay(y, z);
    const Line own = line_at(y, z);
    const int column = g.column(y, z);
    const int length = own.valid ? static_cast<int>(min(int64{g.line}, t.rows.count - own.first)) : 0;
    const unsigned pitch = g.pitch;
    unsigned other[Count], delay[Count];
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      other[k] = k < count ? column - t.terms[k].back : g.pitch - 1;  // the last column is zero
      delay[k] = k < count ? t.terms[k].delay : 1;
    }
    for (int c = 0; c < g.chunks; ++c) {
      const int slot = c % g.slots;
      for (int r = 0; r < g.readers; ++r) await(read + r, c + 1);
      for (int w = 0; w < g.writers; ++w) await(written + w, max(0, c + 1 - kRing / kSteps));
      await(loaded + slot, (c / g.slots + 1) * g.team);
      struct {
        T a[Count], inverse, b;
      } next;
      const auto load = [&](int u) {
        const T* const from = operands + slot * streams * stream + u * step + me;
#pragma unroll
        for (int k = 0; k < Count; ++k) next.a[k] = k < count ? conjugate_if(t.conjugated, from[k * stream]) : T{};
        next.inverse = t.inverse ? conjugate_if(t.conjugated, from[count * stream]) : T{};
        next.b = from[(count + 1) * stream];
      };
      constexpr bool kAhead = Count < kMostInGrid;  // operands are in registers before the step that needs them
      if (kAhead) load(0);
#pragma unroll
      for (int u = 0; u < kSteps; ++u) {
        const unsigned s = kSteps * c + u;
        const int p = static_cast<int>(s) - start;
        if (!kAhead) load(u);
        const auto now = next;
        if (kAhead && u + 1 < kSteps) load(u + 1);
        T sum = now.b;
#pragma unroll
        for (int k = 0; k < Count; ++k) {
          sum = minus_product(sum, now.a[k], results[(s - delay[k]) % kRing * pitch + other[k]]);
        }
        sum = finished(t.last, now.inverse, sum);
        results[s % kRing * pitch + column] = p >= 0 && p < length ? sum : T{};
        if (g.warps == 1) __syncwarp();
        else asm volatile("bar.sync 1, %0;" ::"r"(lines) : "memory");
      }
      if (warp == 0) increase(&computed);
    }
    return;
  }
  if (warp < g.warps + g.writers) {
    const int writer = warp - g.warps, u = lane % kSteps, each = lines / g.writers;
    for (int c = 0; c < g.chunks; ++c) {
      await(&computed, c + 1);
      const int s = kSteps * c + u;
      const T* const row = results + s % kRing * g.pitch;
      for (int l = each * writer + lane / kSteps; l < each * (writer + 1); l += 32 / kSteps) {
        const int y = g.y_of(l), z = g.z_of(l), p = s - g.delay(y, z);
        const Line line = line_at(y, z);
        if (inside(line, p)) x[t.rows.row(line.first + p)] = row[g.column(y, z)];
      }
      increase(written + writer);
      if (lane == 0) release(done + tile * g.writers + writer, kSteps * (c + 1));
    }
    return;
  }
  if (warp < g.warps + g.writers + g.readers) {
    const int reader = warp - g.warps - g.writers, left = g.border_y * g.tile_z, width = g.tile_y + g.border_y;
    // The place of a line next to the tile in it: (y, z), the ones on the left first.
    const auto y_of = [&](int h) { return (h < left ? h % max(1, g.border_y) : (h - left) % width) - g.border_y; };
    const auto z_of = [&](int h) { return h < left ? h / max(1, g.border_y) : (h - left) / width - g.border_z; };
    // A lane waits for the block that computes one of the lines, from its row `first` on.
    const int h = 32 * reader + lane, y = y_of(h), z = z_of(h);
    const bool waits = h < g.border && line_at(y, z).valid;
    const int of_z = at_z + z, z_there = of_z & (g.tile_z - 1), of_y = at_y + y - g.shear * (z - z_there);
    const int y_there = of_y & (g.tile_y - 1), l_there = z_there * g.tile_y + y_there;
    const unsigned* const there =
        done + (of_z / g.tile_z * g.tiles_y + of_y / g.tile_y) * g.writers + l_there / (lines / g.writers);
    const int delay = g.delay(y, z), delay_there = g.delay(y_there, z_there);
    // It reads one step of some of the lines.
    const int u = lane % kSteps;
    int64 from[kSteps];
    int begin[kSteps], end[kSteps], to[kSteps];  // the steps in which there is something to read
#pragma unroll
    for (int r = 0; r < kSteps; ++r) {
      const int one = 32 * reader + 32 / kSteps * r + lane / kSteps;
      const bool exists = one < g.border;
      const Line line = line_at(y_of(one), z_of(one));
      begin[r] = g.delay(y_of(one), z_of(one));
      end[r] = begin[r] + (exists && line.valid ? static_cast<int>(min(int64{g.line}, t.rows.count - line.first)) : 0);
      from[r] = line.first - begin[r];
      to[r] = exists ? g.column(y_of(one), z_of(one)) : g.pitch - 1;
    }
    int seen = 0;
    for (int c = 0; c < g.chunks; ++c) {
      await(&computed, max(0, c - 2));
      const int last = min(kSteps * (c + 1) - delay, g.line), needed = waits && last > 0 ? last + delay_there : 0;
      while (seen < needed) seen = static_cast<int>(acquire(there));
      __syncwarp();
      const int s = kSteps * c + u;
      T v[kSteps];
#pragma unroll
      for (int r = 0; r < kSteps; ++r) {
        v[r] = s >= begin[r] && s < end[r] ? from_l2(x + t.rows.row(from[r] + s)) : T{};
      }
#pragma unroll
      for (int r = 0; r < kSteps; ++r) results[s % kRing * g.pitch + to[r]] = v[r];
      increase(read + reader);
    }
    return;
  }
  // A team of loaders for each slot.
  const int me = static_cast<int>(threadIdx.x) - 32 * (g.warps + g.writers + g.readers), team = 32 * g.team;
  const int slot = me / team, u = me % kSteps;
  const int64 least = (static_cast<int64>(at_z) * g.lines + max(0, at_y - g.shear * (g.tile_z - 1))) * g.line;
  const bool complete = least >= t.terms[0].distance;  // all diagonals have elements in all rows
  for (int c = slot; c < g.chunks; c += g.slots) {
    await(&computed, max(0, c + 1 - g.slots));
    T* const at = operands + slot * streams * stream + u * step;
    const int s = kSteps * c + u;
    for (int l = me % team / kSteps; l < lines; l += team / kSteps) {
      const int y = g.y_of(l), z = g.z_of(l), p = s - g.delay(y, z);
      const Line line = line_at(y, z);
      const bool has = inside(line, p);
      const int64 q = line.first + p, i = has ? t.rows.row(q) : 0;
      const auto load = [&](int k, const T* from, bool exists) {
        __pipeline_memcpy_async(at + k * stream + l, exists ? from + i : x, sizeof(T), exists ? 0 : sizeof(T));
      };
#pragma unroll
      for (int k = 0; k < Count; ++k) {
        if (k >= count) break;
        load(k, t.values + t.terms[k].first, has && (complete || t.terms[k].distance <= q));
      }
      if (t.inverse) load(count, t.inverse, has);
      load(count + 1, x, has);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    increase(loaded + slot);
  }
}

}  // namespace diagsparse::cuda::triangles
