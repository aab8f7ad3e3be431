// Transposed products of row formats: division into chunks, and what remains to be done after their sums.
#include "kernels/scatter.hpp"

namespace diagsparse {

namespace {

constexpr int64 kEntriesPerSum = 8;  // fewest entries for each buffered sum

// Divides the blocks into `count` chunks with equal numbers of blocks.
ScatterChunks divide(int64 count, const std::vector<int64>& begins, const std::vector<int64>& low,
                     const std::vector<int64>& high, int64 rows) {
  const auto blocks = static_cast<int64>(high.size());
  ScatterChunks result{begins, std::vector<char>(blocks), {}, 0};
  std::vector<int64> owned = low;  // no entry of block k or a later one is before owned[k]
  for (int64 k = blocks - 1; k-- > 0;) owned[k] = std::min(owned[k], owned[k + 1]);
  owned.front() = 0;
  owned.push_back(rows);
  for (int64 p = 0; p < count; ++p) {
    const int64 first = blocks * p / count, last = blocks * (p + 1) / count;
    ScatterChunk chunk{first, last, owned[first], owned[last], rows, 0, result.sums};
    for (int64 k = chunk.first; k < chunk.last; ++k) {
      if (high[k] < chunk.owned_end) continue;
      result.buffered[k] = 1;
      chunk.buffered = std::min(chunk.buffered, low[k]);
      chunk.buffered_end = std::max(chunk.buffered_end, high[k] + 1);
    }
    if (chunk.buffered > chunk.buffered_end) chunk.buffered_end = chunk.buffered;
    result.sums += chunk.buffered_end - chunk.buffered;
    result.chunks.push_back(chunk);
  }
  return result;
}

}  // namespace

ScatterChunks chunks_of(const std::vector<int64>& begins, const std::vector<int64>& low, const std::vector<int64>& high,
                        int64 rows, int64 stored) {
  for (int64 count = std::min<int64>(kMaxChunks, high.size());; count /= 2) {
    ScatterChunks result = divide(count, begins, low, high, rows);
    if (count == 1 || result.sums <= stored / kEntriesPerSum) return result;
  }
}

void add_buffered(const ScatterChunks& chunks, const Array& sums, const Dense& y) {
  with_value_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    parallel_for(kMaxChunks, chunks.sums, [&](int64 task) {
      const int64 low = y.rows * task / kMaxChunks, high = y.rows * (task + 1) / kMaxChunks;
      for (const ScatterChunk& chunk : chunks.chunks) {
        const T* const from = sums.as<T>() + chunk.sums_at;
        for (int64 j = std::max(low, chunk.buffered), end = std::min(high, chunk.buffered_end); j < end; ++j) {
          y.as<T>()[j * y.row_stride] += from[j - chunk.buffered];
        }
      }
    });
  });
}

void add_scaled(Scalar alpha, const Array& sums, Scalar beta, const Dense& y) {
  with_value_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    const Update<T> update(alpha, beta);
    parallel_for(kMaxChunks, y.rows, [&](int64 task) {
      for (int64 j = y.rows * task / kMaxChunks; j < y.rows * (task + 1) / kMaxChunks; ++j) {
        update.one(y.as<T>() + j * y.row_stride, sums.as<T>()[j]);
      }
    });
  });
}

}  // namespace diagsparse
