// Masked diagonals in the form that GPU kernels read. Either a warp processes a block of rows, and a lane one of them;
// or a thread looks up the element of its row.
#pragma once

#include "device/resident.cuh"
#include "device/values.cuh"
#include "formats/mdia/layout.hpp"
#include "formats/mdia/products.hpp"

namespace diagsparse::cuda::mdia {

// The bits below that of a lane.
inline __device__ Mask below(int bit) { return (Mask{1} << bit) - 1; }

// op(A), addressed by its diagonals.
template <class T>
struct MaskedOperand {
  Mdia<T> a;
  const std::uint32_t* positions;  // null: only masks are read

  // The row of A in which the diagonal stores the element of row `row` of op(A).
  __device__ static int64 stored_row(const MaskedDiagonal& d, int64 row) {
    return d.is_transposed ? row + d.offset : row;
  }

  // The rows among the 32 from `row` on that have an element; the lowest bit is `row`.
  __device__ Mask mask(const MaskedDiagonal& d, int64 row) const {
    const int64 first = stored_row(d, row), block = first >> kMaskShift;
    return __funnelshift_r(a.mask_at(block, d.number), a.mask_at(block + 1, d.number), static_cast<unsigned>(first));
  }

  // The position of this row's element among the values, negative if there is none.
  __device__ int64 position(const MaskedDiagonal& d, int64 row) const {
    const int64 stored = stored_row(d, row), block = stored >> kMaskShift;
    const int bit = static_cast<int>(stored & (kMaskRows - 1));
    const Mask rows = a.mask_at(block, d.number);
    if ((rows >> bit & 1) == 0) return -1;
    return a.begin[block] + positions[block * a.diagonals + d.number] + __popc(rows & below(bit));
  }

  // The value of the element of a diagonal of A in this row, if its values are stored one by one.
  __device__ T stored_value(std::int32_t number, int64 row) const {
    const int64 block = row >> kMaskShift;
    const int bit = static_cast<int>(row & (kMaskRows - 1));
    const Mask rows = a.mask_at(block, number);
    return a.values[a.begin[block] + positions[block * a.diagonals + number] + __popc(rows & below(bit))];
  }

  __device__ T value(const MaskedDiagonal& d, int64 position) const {
    return conjugate_if(d.conjugated, a.values[position]);
  }
};

// Where A stores the elements of a diagonal of op(A) in a block of 32 rows: in the rows from `shift` on of the block
// that is `blocks` further on, and in the block after that.
struct Reach {
  std::int64_t blocks, masks;  // distance in blocks, and in masks
  std::uint8_t shift, conjugated;
};
// ahead: the distance of the requested rows from the block.
constexpr Reach reach(const MaskedDiagonal& d, int64 diagonals, int64 ahead = 0) {
  const int64 first = d.is_transposed ? ahead + d.offset : ahead, blocks = first >> kMaskShift;
  return {blocks, blocks * diagonals + d.number, static_cast<std::uint8_t>(first & (kMaskRows - 1)), d.conjugated};
}

// The elements of a diagonal in 32 rows, packed: the element of rank r is values[r], or values[r + jump] from rank
// `split` on, where the next block of A begins.
template <class T>
struct Window {
  const T* values;
  Mask rows;
  std::uint32_t split, jump;

  static constexpr std::uint32_t kConjugated = 64;  // a flag in split

  // lower: the bits below that of the row.
  __device__ const T* position(Mask lower) const {
    std::uint32_t rank = __popc(rows & lower);
    if (rank >= (is_complex<T> ? split % kConjugated : split)) rank += jump;
    return values + rank;
  }
  __device__ auto arithmetic_value(T value) const {
    return conjugate_if(is_complex<T> && split >= kConjugated, arithmetic(value));
  }
};

// The masks of a diagonal in a block of rows, which are loaded before the positions of its values.
struct LoadedMasks {
  int64 block;
  const Mask* mask;  // may be outside of the array
  Mask low, high;    // masks of this block and the next
  Mask rows;

  template <class T>
  __device__ LoadedMasks(const Mdia<T>& a, const Reach& to, int64 from, int64 first_mask)
      : block(from + to.blocks), mask(a.mask + first_mask + to.masks) {
    const auto blocks = static_cast<std::uint64_t>(a.blocks());
    low = static_cast<std::uint64_t>(block) < blocks ? mask[0] : 0;
    high = to.shift != 0 && static_cast<std::uint64_t>(block + 1) < blocks ? mask[a.diagonals] : 0;
    rows = __funnelshift_r(low, high, to.shift);
  }
};
// The window of these masks, for which `rows` is not 0.
template <class T>
__device__ Window<T> window(const MaskedOperand<T>& a, const LoadedMasks& loaded, const Reach& to) {
  const std::uint32_t* const position = a.positions + (loaded.mask - a.a.mask);
  const std::uint32_t split = __popc(loaded.low >> to.shift);
  int64 first = 0, next = 0;
  if (loaded.low != 0) first = a.a.begin[loaded.block] + position[0] + (__popc(loaded.low) - split);
  if (loaded.high != 0) next = a.a.begin[loaded.block + 1] + position[a.a.diagonals] - split;
  if (loaded.low == 0) first = next;
  const std::uint32_t flag = is_complex<T> && to.conjugated ? Window<T>::kConjugated : 0;
  return {a.a.values + first, loaded.rows, split + flag, static_cast<std::uint32_t>(next - first)};
}

// The diagonals of op(A) on the device, cached with A.
struct ResidentDiagonals {
  Array list;
  int count;

  const MaskedDiagonal* begin() const { return list.as<const MaskedDiagonal>(); }
  auto arrays() const { return std::tie(list); }
};
inline std::shared_ptr<ResidentDiagonals> resident_diagonals(const Structure& structure, Op op) {
  const char* const keys[] = {"diagonals N", "diagonals T", "diagonals C", "diagonals H"};
  return cached<ResidentDiagonals>(structure.cache(), keys[op.transposed + 2 * op.conjugated], [&] {
    const std::vector<MaskedDiagonal> all = masked_diagonals(structure, op);
    return std::make_shared<ResidentDiagonals>(ResidentDiagonals{upload(all), static_cast<int>(all.size())});
  });
}

template <class T>
MaskedOperand<T> operand(const Matrix& m) {
  return {Mdia<T>::of(m), value_starts(*m.structure)->from_block.template as<const std::uint32_t>()};
}

// op(A) with the list of its diagonals.
template <class T>
struct OperandByDiagonals {
  MaskedOperand<T> a;
  const MaskedDiagonal* diagonal;
  int64 count, height;

  __device__ int64 diagonals() const { return count; }
  __device__ int64 rows() const { return height; }
};

MatvecRow by_blocks();
MatmulRow products_by_blocks();

}  // namespace diagsparse::cuda::mdia
