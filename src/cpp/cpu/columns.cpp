// Compressed column indices on the CPU.
#include "core/columns.hpp"

#include <algorithm>
#include <atomic>

#include "cpu/parallel.hpp"

namespace diagsparse {

namespace {

constexpr int64 kChunksPerTask = 1 << 10;  // chunks of a task

// Calls f(chunk, first, last) with the range of positions of every chunk.
template <class F>
void for_each_chunk(Shape shape, const F& f) {
  const int64 length = shape.cols < 0 ? shape.rows : shape.cols, of_line = chunks_in(length);
  const int64 count = ColumnArrays::bases_for(shape).rows;
  parallel_for((count + kChunksPerTask - 1) / kChunksPerTask, shape.size(), [&](int64 task) {
    for (int64 c = task * kChunksPerTask; c < std::min(count, (task + 1) * kChunksPerTask); ++c) {
      const int64 line = c / of_line * length, first = c % of_line * kChunk;
      f(c, line + first, line + std::min(length, first + kChunk));
    }
  });
}

}  // namespace

int64 write_short(const Array& columns, const ColumnArrays& to) {
  const auto* from = columns.as<const std::int32_t>();
  auto* const bases = to.bases ? to.bases->as<std::int32_t>() : nullptr;
  constexpr int64 none = std::numeric_limits<int64>::max();
  std::atomic<int64> unfit{none};
  with_index_type(to.indices.dtype, [&]<class I>(I) {
    I* const indices = to.indices.as<I>();
    for_each_chunk(columns.shape, [&](int64 chunk, int64 first, int64 last) {
      std::int32_t low = std::numeric_limits<std::int32_t>::max(), high = -1;
      for (int64 e = first; e < last; ++e) {
        if (from[e] >= 0) low = std::min(low, from[e]), high = std::max(high, from[e]);
      }
      const std::int32_t base = bases && high >= 0 ? low : 0;
      if (bases) bases[chunk] = base;
      if (high - base > reach_of(to.indices.dtype)) {
        for (int64 current = unfit; chunk < current && !unfit.compare_exchange_weak(current, chunk);) continue;
        return;
      }
      for (int64 e = first; e < last; ++e) indices[e] = static_cast<I>(from[e] < 0 ? -1 : from[e] - base);
    });
  });
  return unfit == none ? -1 : unfit.load();
}

void write_long(const Array& indices, const Array* bases, const Array& to) {
  auto* const out = to.as<std::int32_t>();
  with_index_type(indices.dtype, [&]<class I>(I) {
    const I* const from = indices.as<const I>();
    const auto* base = bases ? bases->as<const std::int32_t>() : nullptr;
    for_each_chunk(indices.shape, [&](int64 chunk, int64 first, int64 last) {
      const int64 low = base ? base[chunk] : 0;
      for (int64 e = first; e < last; ++e) out[e] = column_from(from[e], low);
    });
  });
}

int64 count_unpadded(const Array& indices) {
  return with_index_type(indices.dtype, [&]<class I>(I) {
    const I* const index = indices.as<const I>();
    return std::count_if(index, index + indices.size(), [](I j) { return !Columns<I>::padding(j); });
  });
}

}  // namespace diagsparse
