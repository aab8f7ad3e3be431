// The rows that a block of the "stream" kernels processes, and their entries, which it reads in order (stream.cu).
#pragma once

#include "device/dense.cuh"
#include "kernels/rows/chunks.hpp"
#include "kernels/rows/rows.cuh"

namespace diagsparse::cuda::rows::streams {

constexpr int kThreads = 256, kWarps = kThreads / 32, kEach = 4, kProducts = kThreads * kEach;
constexpr int kLongFactor = 32;                   // ratio of entries to threads above which a row is put on the list
constexpr int kListed = kProducts / kLongFactor;  // rows on the list, including the last one

// A block's rows, and their entries from the first on. If the last row is too long, it is not counted among them.
struct Chunk {
  const std::int64_t* indptr;  // pointer of the first row
  int64 entry;
  int row, rows, entries;
  bool oversized;  // one more row follows, with more entries than fit

  __device__ Chunk(const std::int64_t* of_all, const ChunkStart* first) {
    const longlong2* const starts = reinterpret_cast<const longlong2*>(first) + blockIdx.x;
    const longlong2 start = __ldg(starts), next = __ldg(starts + 1);
    row = static_cast<int>(start.x), rows = static_cast<int>(next.x) - row;
    indptr = of_all + row;
    entry = start.y;
    const int64 all = next.y - entry;
    oversized = all > kProducts;
    if (oversized) --rows;
    entries = oversized ? begin(rows) : static_cast<int>(all);
  }
  // Where row i begins, counted from the first entry.
  __device__ int begin(int i) const { return static_cast<int>(indptr[i] - entry); }
  __device__ int mean() const { return entries / max(rows, 1); }
};

// Bounds of row i; empty if the row does not exist.
struct Row {
  int begin = 0, end = 0;

  __device__ Row(const Chunk& chunk, int i) {
    if (i < chunk.rows) begin = chunk.begin(i), end = chunk.begin(i + 1);
  }
  __device__ bool empty() const { return begin == end; }
};

// The entries of a chunk. Thread t holds t, t + kThreads, ..., all loaded at once.
template <class U>
struct Fetched {
  U values[kEach];
  std::int32_t columns[kEach];

  // in_order: a.positions is null.
  __device__ Fetched(const Rows<U>& a, const Chunk& chunk, bool in_order) {
    each(chunk, [&](int k, int e) {
      values[k] = in_order ? load_once(a.values + chunk.entry + e) : a.value_once(chunk.entry + e);
      columns[k] = load_once(a.indices + chunk.entry + e);
    });
  }
  template <class F>
  static __device__ void each(const Chunk& chunk, const F& f) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int e = threadIdx.x + k * kThreads;
      if (e < chunk.entries) f(k, e);
    }
  }
};

}  // namespace diagsparse::cuda::rows::streams
