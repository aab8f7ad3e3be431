// bmsparse on the GPU: conversion from and to rows, blocks in the order of columns, and validation.
#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "device/faults.cuh"
#include "device/resident.cuh"
#include "entries/coordinates.cuh"
#include "formats/bmsparse/blocks.cuh"

namespace diagsparse {

namespace cuda::bmsparse {

namespace {

constexpr Key kElements = kTile * kTile;  // elements per block

// ---- From rows: entries are sorted by block and position; a thread processes an entry ----------------------
__global__ void __launch_bounds__(kBlock)
    write_block_keys(const Coordinates from, int64 count, int64 across, Key* keys, int64* positions) {
  const int64 e = thread_index();
  if (e >= count) return;
  const int64 i = from.row_of(e), j = from.col_of(e);
  keys[e] = (i / kTile * across + j / kTile) * kElements + i % kTile * kTile + j % kTile;
  positions[e] = e;
}

__global__ void __launch_bounds__(kBlock) mark_blocks(const Key* keys, int64 count, std::int64_t* heads) {
  const int64 e = thread_index();
  if (e < count) heads[e] = e == 0 || keys[e] / kElements != keys[e - 1] / kElements;
}

// `block`: the index of each entry's block, plus one.
__global__ void __launch_bounds__(kBlock)
    write_blocks(const Key* keys, int64 count, int64 across, const std::int64_t* block, std::int32_t* col,
                 Bitmap* bitmap, std::int64_t* begin) {
  const int64 e = thread_index();
  if (e > count) return;
  if (e == count) {
    begin[count > 0 ? block[count - 1] : 0] = count;
    return;
  }
  if (e > 0 && block[e] == block[e - 1]) return;
  const int64 p = block[e] - 1;
  const Key mine = keys[e] / kElements;
  Bitmap found = 0;
  for (int64 f = e; f < count && keys[f] / kElements == mine; ++f) {
    found |= bit_of(static_cast<int>(keys[f] % kElements));
  }
  col[p] = static_cast<std::int32_t>(mine % across);
  bitmap[p] = found;
  begin[p] = e;
}

__global__ void __launch_bounds__(kBlock) point_rows(const Key* keys, int64 count, int64 across,
                                                     const std::int64_t* block, std::int64_t* indptr, int64 rows) {
  const int64 i = thread_index();
  if (i > rows) return;
  const Key first = static_cast<Key>(i * across) * kElements;
  const int64 e = bisect(0, count, [&](int64 f) { return keys[f] < first; });
  indptr[i] = e < count ? block[e] - 1 : count > 0 ? block[count - 1] : 0;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    gather_values(const T* values, const int64* positions, int64 count, T* gathered) {
  const int64 e = thread_index();
  if (e < count) gathered[e] = values[positions[e]];
}

// ---- To rows: a warp processes a row of blocks, four blocks at once, and a lane one row of a block -----------
struct RowOfBlock {
  int64 begin, end;  // range of the row's blocks
  int64 row;         // row of the matrix
  int r, q;          // row of the block, and which one of four blocks

  __device__ explicit RowOfBlock(const int64* indptr) {
    const int64 i = thread_index() / 32;
    begin = indptr[i], end = indptr[i + 1];
    r = static_cast<int>(threadIdx.x % kTile), q = static_cast<int>(threadIdx.x % 32 / kTile);
    row = i * kTile + r;
  }
};

__global__ void __launch_bounds__(kBlock) count_rows(const Bmsparse<char> a, std::int64_t* in_row) {
  if (thread_index() >= 32 * tiles_along(a.rows)) return;
  const RowOfBlock mine(a.indptr);
  int count = 0;
  for (int64 p = mine.begin + mine.q; p < mine.end; p += 4) count += __popc(row_bits(a.bitmap[p], mine.r));
  count += __shfl_xor_sync(~0u, count, kTile);
  count += __shfl_xor_sync(~0u, count, 2 * kTile);
  if (mine.q == 0 && mine.row < a.rows) in_row[mine.row] = count;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    write_rows(const Bmsparse<T> a, const std::int64_t* indptr, std::int32_t* indices, T* values) {
  if (thread_index() >= 32 * tiles_along(a.rows)) return;
  const RowOfBlock mine(a.indptr);
  int64 to = mine.row < a.rows ? indptr[mine.row] : 0;
  for (int64 base = mine.begin; base < mine.end; base += 4) {
    const int64 p = base + mine.q;
    const Bitmap bitmap = p < mine.end ? a.bitmap[p] : 0;
    unsigned set = row_bits(bitmap, mine.r);
    const int count = __popc(set);
    int end = count;  // including those of the previous blocks
    for (int step = 1; step < 4; step *= 2) {
      const int below = __shfl_up_sync(~0u, end, step * kTile);
      if (mine.q >= step) end += below;
    }
    if (set != 0) {
      int64 from = a.begin[p] + __popcll(up_to(bitmap, static_cast<int>(kTile) * mine.r)) - (set >> 7);
      for (int64 at = to + end - count; set != 0; ++from, ++at) {
        const int c = __clz(set) - 24;
        indices[at] = static_cast<std::int32_t>(kTile * a.col[p] + c);
        values[at] = a.values[from];
        set &= ~(0x80u >> c);
      }
    }
    to += __shfl_sync(~0u, end, 3 * kTile + mine.r);
  }
}

// ---- By columns, and validation: a thread processes a block --------------------------------------------------
__device__ int64 row_of(const Bmsparse<char>& a, int64 p) {
  return bisect(1, tiles_along(a.rows), [&](int64 i) { return a.indptr[i] <= p; }) - 1;
}

__global__ void __launch_bounds__(kBlock)
    write_column_keys(const Bmsparse<char> a, int64 count, Key* keys, int64* positions) {
  const int64 p = thread_index();
  if (p >= count) return;
  keys[p] = make_key(a.col[p], row_of(a, p));
  positions[p] = p;
}

__global__ void __launch_bounds__(kBlock) write_numbers(const int64* positions, int64 count, std::int32_t* number) {
  const int64 p = thread_index();
  if (p < count) number[p] = static_cast<std::int32_t>(positions[p]);
}

__global__ void __launch_bounds__(kBlock)
    check_bitmaps(const Bmsparse<char> a, int64 count, Position* outside, Position* pointers) {
  const int64 p = thread_index();
  if (p >= count) {
    if (p == 0 && a.begin[0] != 0) report(pointers, 0);
    return;
  }
  const Bitmap bitmap = a.bitmap[p], within = bits_within(a.rows - kTile * row_of(a, p), a.cols - kTile * a.col[p]);
  if (bitmap == 0 || (bitmap & ~within) != 0) report(outside, p);
  if (p == 0 && a.begin[0] != 0) report(pointers, 0);
  if (a.begin[p + 1] - a.begin[p] != __popcll(bitmap)) report(pointers, p + 1);
}

}  // namespace

}  // namespace cuda::bmsparse

using namespace cuda;
using namespace cuda::bmsparse;

Matrix blocks_from_rows(const Matrix& m) {
  const int64 count = m.values.size(), rows = tiles_along(m.rows), across = tiles_along(m.cols);
  const Coordinates from = Coordinates::of(m, {});
  Keys keys(count);
  launch("write keys", write_block_keys, cuda::blocks(count), dim3(kBlock), from, count, across, keys.key(),
         keys.position());
  sort(keys, std::bit_width(static_cast<Key>(rows * across) * kElements));
  const Scratch<std::int64_t> block(count);
  launch("mark blocks", mark_blocks, cuda::blocks(count), dim3(kBlock), keys.key(), count, block.get());
  const int64 blocks = inclusive_sum(block.get(), block.get(), count);
  Array indptr = Array::empty(DType::i64, {rows + 1}), col = Array::empty(DType::i32, {blocks});
  Array bitmap = Array::empty(DType::u64, {blocks}), begin = Array::empty(DType::i64, {blocks + 1});
  launch("write blocks", write_blocks, cuda::blocks(count + 1), dim3(kBlock), keys.key(), count, across, block.get(),
         col.as<std::int32_t>(), bitmap.as<Bitmap>(), begin.as<std::int64_t>());
  launch("point rows", point_rows, cuda::blocks(rows + 1), dim3(kBlock), keys.key(), count, across, block.get(),
         indptr.as<std::int64_t>(), rows);
  Array values = Array::empty(m.dtype, {count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("gather values", gather_values<T>, cuda::blocks(count), dim3(kBlock), m.values.as<T>(), keys.position(),
           count, values.as<T>());
  });
  return {
      bmsparse_structure(m.rows, m.cols, std::move(indptr), std::move(col), std::move(bitmap), std::move(begin), count),
      std::move(values)};
}

Matrix rows_from_blocks(const Matrix& m) {
  const int64 count = m.values.size();
  Array indptr = Array::zeros(DType::i64, {m.rows + 1}), indices = Array::empty(DType::i32, {count});
  Array values = Array::empty(m.dtype, {count});
  auto* const pointers = indptr.as<std::int64_t>();
  launch("count rows", count_rows, cuda::blocks(32 * tiles_along(m.rows)), dim3(kBlock),
         Bmsparse<char>::over(*m.structure, nullptr), pointers + 1);
  inclusive_sum(pointers, pointers, m.rows + 1);
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("write rows", write_rows<T>, cuda::blocks(32 * tiles_along(m.rows)), dim3(kBlock), Bmsparse<T>::of(m),
           pointers, indices.as<std::int32_t>(), values.as<T>());
  });
  return compressed(*common, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

std::shared_ptr<const BlockColumns> block_columns(const Structure& structure) {
  return cached<BlockColumns>(structure.cache(), "block columns", [&] {
    const auto a = Bmsparse<char>::over(structure, nullptr);
    const int64 count = static_cast<const Indices&>(structure).at("block_col").size();
    Keys keys(count);
    launch("write keys", write_column_keys, cuda::blocks(count), dim3(kBlock), a, count, keys.key(), keys.position());
    sort(keys);
    SortedLines lines(keys.key(), count, tiles_along(a.cols));
    Array number = Array::empty(DType::i32, {count});
    launch("write numbers", write_numbers, cuda::blocks(count), dim3(kBlock), keys.position(), count,
           number.as<std::int32_t>());
    return std::make_shared<BlockColumns>(BlockColumns{lines.indptr, lines.indices, number});
  });
}

Fault fault_in_bitmaps(const Structure& structure) {
  const int64 count = static_cast<const Indices&>(structure).at("block_col").size();
  const FirstFaults bitmaps, pointers;
  launch("check bitmaps", check_bitmaps, cuda::blocks(count + 1), dim3(kBlock),
         Bmsparse<char>::over(structure, nullptr), count, bitmaps.outside(), pointers.outside());
  const Fault fault = bitmaps.fault(Fault::outside);
  return fault.kind != Fault::none ? fault : pointers.fault(Fault::pointers);
}

}  // namespace diagsparse
