// bmsparse on the CPU: conversions from and to csr, and validation.
#include <algorithm>
#include <numeric>

#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "cpu/parallel.hpp"
#include "formats/bmsparse/layout.hpp"

namespace diagsparse {

namespace {

constexpr int64 kPerCheckpoint = 1 << 16;  // blocks between two calls of checkpoint()

// Traverses row i of blocks, all of its matrix rows together: calls f(column of blocks, bitmap, next) for each block,
// where next[r] is the first entry of matrix row r after the block.
template <class F>
void for_each_block(const Csr<char>& a, int64 i, const F& f) {
  const int count = static_cast<int>(std::min(kTile, a.rows - kTile * i));
  int64 next[kTile], end[kTile];
  for (int r = 0; r < count; ++r) next[r] = a.indptr[kTile * i + r], end[r] = a.indptr[kTile * i + r + 1];
  while (true) {
    std::int64_t column = INT64_MAX;
    for (int r = 0; r < count; ++r) {
      if (next[r] < end[r]) column = std::min<std::int64_t>(column, a.indices[next[r]] / kTile);
    }
    if (column == INT64_MAX) return;
    Bitmap bitmap = 0;
    for (int r = 0; r < count; ++r) {
      for (; next[r] < end[r] && a.indices[next[r]] / kTile == column; ++next[r]) {
        bitmap |= bit_of(static_cast<int>(kTile * r + a.indices[next[r]] % kTile));
      }
    }
    f(column, bitmap, next);
  }
}

}  // namespace

Matrix blocks_from_rows(const Matrix& m) {
  const int64 rows = tiles_along(m.rows), count = m.values.size(), work = 4 * count + m.rows;
  const Csr<char> pattern = Csr<char>::of(m);
  Array indptr = Array::zeros(DType::i64, {rows + 1});
  const int64 tasks = std::min<int64>(rows, tasks_for(work));
  // Calls f(i) for each row of blocks.
  const auto for_each_row = [&](const auto& f) {
    parallel_for(tasks, work, [&](int64 task) {
      for (int64 i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) f(i);
    });
  };
  for_each_row(
      [&](int64 i) { for_each_block(pattern, i, [&](int64, Bitmap, const int64*) { ++indptr.as<int64>()[i + 1]; }); });
  std::partial_sum(indptr.as<int64>(), indptr.as<int64>() + rows + 1, indptr.as<int64>());
  const int64 blocks = indptr.as<int64>()[rows];
  Array col = Array::empty(DType::i32, {blocks}), bitmaps = Array::empty(DType::u64, {blocks});
  Array begin = Array::empty(DType::i64, {blocks + 1}), values = Array::empty(m.dtype, {count});
  begin.as<int64>()[blocks] = count;
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const from = m.values.as<T>();
    for_each_row([&](int64 i) {
      int64 p = indptr.as<int64>()[i], to = pattern.indptr[std::min(m.rows, kTile * i)];
      for_each_block(pattern, i, [&](int64 column, Bitmap bitmap, const int64* next) {
        col.as<std::int32_t>()[p] = static_cast<std::int32_t>(column);
        bitmaps.as<Bitmap>()[p] = bitmap;
        begin.as<int64>()[p++] = to;
        for (int r = 0; r < kTile; ++r) {
          const int in_block = std::popcount(row_bits(bitmap, r));
          if (in_block > 0) std::copy_n(from + next[r] - in_block, in_block, values.as<T>() + to);
          to += in_block;
        }
      });
    });
  });
  return {bmsparse_structure(m.rows, m.cols, std::move(indptr), std::move(col), std::move(bitmaps), std::move(begin),
                             count),
          std::move(values)};
}

Matrix rows_from_blocks(const Matrix& m) {
  const int64 rows = tiles_along(m.rows), count = m.values.size();
  Array indptr = Array::zeros(DType::i64, {m.rows + 1}), indices = Array::empty(DType::i32, {count});
  Array values = Array::empty(m.dtype, {count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto a = Bmsparse<T>::of(m);
    const int64 work = 4 * count + m.rows, tasks = std::min<int64>(rows, tasks_for(work));
    parallel_for(tasks, work, [&](int64 task) {
      for (int64 i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) {
        const int in_block = static_cast<int>(std::min(kTile, m.rows - kTile * i));
        int64 next[kTile] = {};
        for (int64 p = a.indptr[i]; p < a.indptr[i + 1]; ++p) {
          for (int r = 0; r < in_block; ++r) next[r] += std::popcount(row_bits(a.bitmap[p], r));
        }
        int64 at = a.begin[a.indptr[i]];
        for (int r = 0; r < in_block; ++r) {
          at += std::exchange(next[r], at);
          indptr.as<int64>()[kTile * i + r + 1] = at;
        }
        for (int64 p = a.indptr[i], e = a.begin[p]; p < a.indptr[i + 1]; ++p) {
          for (Bitmap remaining = a.bitmap[p]; remaining != 0;) {
            const int position = std::countl_zero(remaining);
            const int64 to = next[position / kTile]++;
            indices.as<std::int32_t>()[to] = static_cast<std::int32_t>(kTile * a.col[p] + position % kTile);
            values.as<T>()[to] = a.values[e++];
            remaining ^= bit_of(position);
          }
        }
      }
    });
  });
  return compressed(*common, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

Fault fault_in_bitmaps(const Structure& structure) {
  const auto a = Bmsparse<char>::over(structure, nullptr);
  int64 before = 0;
  for (int64 i = 0; i < tiles_along(a.rows); ++i) {
    for (int64 p = a.indptr[i]; p < a.indptr[i + 1]; ++p) {
      if (p % kPerCheckpoint == 0) checkpoint();
      const Bitmap allowed = bits_within(a.rows - kTile * i, a.cols - kTile * a.col[p]);
      if (a.bitmap[p] == 0 || (a.bitmap[p] & ~allowed) != 0) return {Fault::outside, p};
      if (a.begin[p] != before) return {Fault::pointers, p};
      before += std::popcount(a.bitmap[p]);
    }
  }
  const int64 blocks = a.indptr[tiles_along(a.rows)];
  if (a.begin[blocks] != before) return {Fault::pointers, blocks};
  return {};
}

}  // namespace diagsparse
