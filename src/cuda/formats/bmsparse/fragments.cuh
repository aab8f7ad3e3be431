// Blocks as fragments of the FP64 matrix units. The product of two 8 x 8 blocks consists of two steps of mma m8n8k4. In
// each step, lane l of a warp holds element (l / 4, l % 4) of the left operand and (l % 4, l / 4) of the right one, and
// elements (l / 4, 2 (l % 4)) and the next one of the sums. Elements that are not stored are zeros.
#pragma once

#include "formats/bmsparse/blocks.cuh"

namespace diagsparse::cuda::bmsparse {

// A block of an operand: its bitmap as it is stored, and a pointer to its values.
template <class T>
struct BlockView {
  Bitmap bitmap;
  const T* values;
};

// The blocks of op(A), by their index in A. Elements are addressed by their row and column in op(A).
template <class T>
struct Source {
  const Bitmap* bitmap;
  const std::int64_t* begin;
  const T* values;
  bool transpose, conj;

  Source(const Matrix& m, Op op)
      : bitmap(m.index("bitmap").as<Bitmap>()),
        begin(m.index("value_indptr").as<std::int64_t>()),
        values(m.values.as<T>()),
        transpose(op.transposed),
        conj(op.conjugated) {}

  __device__ BlockView<T> view(int64 number) const { return {bitmap[number], values + begin[number]}; }
  __device__ int position(int r, int c) const { return transpose ? kLanes * c + r : kLanes * r + c; }
  __device__ bool has(const BlockView<T>& block, int r, int c) const { return up_to(block.bitmap, position(r, c)) & 1; }
  __device__ T value(const BlockView<T>& block, int r, int c) const {
    return conjugate_if(conj, load(block.values + __popcll(up_to(block.bitmap, position(r, c))) - 1));
  }
};

// The positions of a lane's two elements in a block.
template <class T>
struct Positions {
  int at[2];
  bool conj;

  // Elements (r, c) and (r + down, c + right) of blocks of op(A).
  __device__ Positions(const Source<T>& from, int r, int c, int down, int right)
      : at{from.position(r, c), from.position(r + down, c + right)}, conj(from.conj) {}

  // Reads one of them; 0 if it is not stored.
  __device__ T read(const BlockView<T>& block, int s) const {
    const unsigned high = block.bitmap >> 32, low = static_cast<unsigned>(block.bitmap);
    const bool below = at[s] >= 32;
    const unsigned found = (below ? low : high) >> (31 - at[s] % 32);
    const int before = (below ? __popc(high) : 0) + __popc(found);
    return found & 1 ? conjugate_if(conj, load(block.values + (before - 1))) : T{};
  }
  // The same for a block that stores all its elements.
  __device__ T read_full(const BlockView<T>& block, int s) const {
    return conjugate_if(conj, load(block.values + at[s]));
  }
};

// The half of a block that is used in the first step, as left and as right operand.
constexpr Bitmap kLeft = 0xf0f0f0f0f0f0f0f0u, kTop = 0xffffffff00000000u;

template <class T>
__device__ BlockView<T> from_lane(const BlockView<T>& mine, int lane) {
  return {__shfl_sync(kAllLanes, mine.bitmap, lane),
          reinterpret_cast<const T*>(__shfl_sync(kAllLanes, reinterpret_cast<unsigned long long>(mine.values), lane))};
}

}  // namespace diagsparse::cuda::bmsparse
