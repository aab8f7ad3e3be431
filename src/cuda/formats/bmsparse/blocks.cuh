// Blocks with bitmaps in the form that kernels read, and what these have in common. A "group" is the eight threads that
// process a block or a row of blocks together.
#pragma once

#include "device/launch.cuh"
#include "device/values.cuh"
#include "formats/bmsparse/layout.hpp"
#include "formats/bmsparse/products.hpp"

namespace diagsparse::cuda::bmsparse {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kLanes = static_cast<int>(kTile);  // threads per group
constexpr int kGroups = kBlock / kLanes;

// The lanes of this thread's group.
__device__ inline unsigned group_lanes() { return 0xffu << (threadIdx.x % 32 & ~7u); }
inline __device__ int64 group_index() { return static_cast<int64>(blockIdx.x) * kGroups + threadIdx.x / kLanes; }
inline dim3 groups(int64 count) { return blocks(kLanes * count); }

// The structure of op(A) by rows of blocks, without values.
struct Rows {
  int64 rows;  // number of rows of blocks
  const std::int64_t* indptr;
  const std::int32_t* col;
  const std::int32_t* number;  // index of a block in A; null: in order
  const Bitmap* stored;
  bool transpose;

  explicit Rows(const BlockOperand& of)
      : rows(of.rows),
        indptr(of.indptr.as<std::int64_t>()),
        col(of.col.as<std::int32_t>()),
        number(of.number),
        stored(Bmsparse<char>::over(of.structure, nullptr).bitmap),
        transpose(of.op.transposed) {}

  __device__ std::int32_t block(int64 e) const { return number ? number[e] : static_cast<std::int32_t>(e); }
  __device__ Bitmap bitmap(int64 e) const { return transpose_if(transpose, stored[block(e)]); }
};

// The multiply-adds of a pair: for each k, the elements of column k of one block times those of row k of the other.
__device__ inline int multiply_adds(Bitmap a, Bitmap b) {
  int count = 0;
  for (int k = 0; k < kLanes; ++k) count += __popcll(a & kFirstColumn >> k) * __popc(row_bits(b, k));
  return count;
}

// The elements of a block up to this position, row by row. The last bit is set if that element is stored. The number of
// set bits is the number of values up to and including it.
__device__ inline Bitmap up_to(Bitmap bitmap, int position) { return bitmap >> (63 - position); }

}  // namespace diagsparse::cuda::bmsparse
