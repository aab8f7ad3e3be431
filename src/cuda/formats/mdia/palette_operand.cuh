// A matrix with a palette in the form that kernels for vectors read: all diagonals but one have a single value.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "device/resident.cuh"
#include "formats/mdia/masks.cuh"
#include "formats/mdia/palette.hpp"

namespace diagsparse::cuda::mdia {

namespace {

// A diagonal of A.
struct alignas(16) PaletteDiagonal {
  std::int64_t offset;
  std::int32_t single;   // the position of its only value; negative if it has several
  std::uint32_t column;  // of its masks
};
struct ResidentPalette {
  Array list;               // by the distance from the main diagonal, alternately below and above it
  int singles = 0;          // how many diagonals have one value
  int others = 0;           // and how many have several
  std::int32_t rank = -1;   // of the last of these in the list,
  std::size_t number = 0;   // and in A
  Coding coding{0, 0, -1};  // and how its values are stored

  // Whether the kernels for vectors are suitable. All tables together have fewer than 2^31 values then.
  bool most_have_one_value() const { return others <= 1 && singles > 0; }
  auto arrays() const { return std::tie(list); }
};
inline std::shared_ptr<ResidentPalette> resident_palette(const Structure& structure) {
  return cached<ResidentPalette>(structure.cache(), "diagonals of the palette", [&] {
    const std::vector<Coding> codings = codings_for(table_pointers(static_cast<const Indices&>(structure)));
    const std::vector<int64>& offsets = offsets_of(structure);
    std::vector<std::uint32_t> order(offsets.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t d) { return std::abs(offsets[d]); });
    std::vector<PaletteDiagonal> list;
    ResidentPalette palette;
    for (const std::uint32_t d : order) {
      const bool single = codings[d].bits == 0;
      if (!single) {
        palette.rank = static_cast<std::int32_t>(list.size());
        palette.number = d;
        palette.coding = codings[d];
      }
      (single ? palette.singles : palette.others) += 1;
      list.push_back({offsets[d], single ? static_cast<std::int32_t>(codings[d].table) : -1, d});
    }
    palette.list = upload(list);
    return std::make_shared<ResidentPalette>(palette);
  });
}

template <class U>
struct PaletteOperand {
  const Mask* mask;
  const U* values;
  const std::uint32_t* codes;
  const std::int64_t* begin;
  const PaletteDiagonal* diagonal;
  std::uint32_t rows, blocks, diagonals, words;
  // Of the diagonal that has several values, often the main one: its rank in this list, negative if there is none; its
  // column of the masks, its offset, and how its values are stored.
  std::int32_t other;
  std::uint32_t other_column;
  std::int64_t other_offset;
  Coding other_coding;
  bool conj;

  __device__ auto value(const U* at) const { return conjugate_if(conj, arithmetic(load(at))); }
  __device__ const Mask* masks(std::uint32_t block) const { return mask + std::uint64_t{block} * diagonals; }
};

// sum += u v, fused.
template <class U, class V>
__device__ void add_product(Product<U, V>& sum, U u, V v) {
  using R = Wider<U, V>;
  if constexpr (is_complex<U> && is_complex<V>) {
    sum = {fma(R(u.re), R(v.re), fma(-R(u.im), R(v.im), sum.re)), fma(R(u.re), R(v.im), fma(R(u.im), R(v.re), sum.im))};
  } else if constexpr (is_complex<U>) {
    sum = {fma(R(u.re), R(v), sum.re), fma(R(u.im), R(v), sum.im)};
  } else if constexpr (is_complex<V>) {
    sum = {fma(R(u), R(v.re), sum.re), fma(R(u), R(v.im), sum.im)};
  } else {
    sum = fma(R(u), R(v), sum);
  }
}

template <class V>
__device__ const V* moved(const V* p, std::int64_t bytes) {
  return reinterpret_cast<const V*>(reinterpret_cast<const char*>(p) + bytes);
}

// The blocks of rows that a warp processes together: `inside` of them, from `first` on, are inside the matrix.
template <int Blocks>
struct RowBlocks {
  std::uint32_t first;
  int inside;

  // The address of block k, where that of the first is `p` and those of two blocks are `stride` elements apart. Blocks
  // that are outside have the address of the last one that is inside.
  template <class T>
  __device__ const T* at(const T* p, int k, std::uint32_t stride) const {
    const auto steps = static_cast<std::uint32_t>(k < inside ? k : inside - 1);
    return moved(p, static_cast<std::int64_t>(std::uint64_t{steps} * (stride * static_cast<std::uint32_t>(sizeof(T)))));
  }
  __device__ void clear_outside(Mask (&mask)[Blocks]) const {
    if (inside == Blocks) return;
#pragma unroll
    for (int k = 0; k < Blocks; ++k) {
      if (k >= inside) mask[k] = 0;
    }
  }
};

// The elements of the lane's rows on the diagonal that has several values. They are loaded in three steps, so that
// other work is done while the loads of each are on their way: codes, values and masks, and x.
template <int Blocks, class U>
class OtherElements {
 public:
  __device__ OtherElements(const PaletteOperand<U>& m, const RowBlocks<Blocks>& blocks, std::uint32_t lane) {
    const Coding& coding = m.other_coding;
    if (coding.is_stored()) return;
    const std::uint32_t* const word =
        m.codes + std::uint64_t{blocks.first} * m.words + (coding.word + (lane * coding.bits >> 5));
#pragma unroll
    for (int k = 0; k < Blocks; ++k) word_[k] = __ldcs(blocks.at(word, k, m.words));
  }

  __device__ void load_values(const PaletteOperand<U>& m, const RowBlocks<Blocks>& blocks, std::uint32_t lane) {
    const Coding& coding = m.other_coding;
    has_ = 0;
    if (m.other < 0) return;
    Mask here[Blocks];
    const Mask* const mask = m.masks(blocks.first) + m.other_column;
#pragma unroll
    for (int k = 0; k < Blocks; ++k) here[k] = load(blocks.at(mask, k, m.diagonals));
    blocks.clear_outside(here);
    if (coding.is_stored()) {
      const std::int64_t* const begin = m.begin + blocks.first;
#pragma unroll
      for (int k = 0; k < Blocks; ++k) {
        if (here[k] >> lane & 1) value_[k] = load_once(m.values + load(begin + k) + __popc(here[k] & below(lane)));
      }
    } else {
      const U* const table = m.values + coding.table;
      const std::uint32_t shift = lane * coding.bits & 31, bits = (1u << coding.bits) - 1;
#pragma unroll
      for (int k = 0; k < Blocks; ++k) value_[k] = load(table + (word_[k] >> shift & bits));
    }
#pragma unroll
    for (int k = 0; k < Blocks; ++k) has_ |= (here[k] >> lane & 1) << k;
  }

  // x: the element in the column that is equal to the lane's first row.
  template <class V>
  __device__ void add(const PaletteOperand<U>& m, const V* x, Product<U, V> (&sum)[Blocks]) const {
    const V* const from = x + m.other_offset;
#pragma unroll
    for (int k = 0; k < Blocks; ++k) {
      if (has_ >> k & 1) {
        add_product(sum[k], conjugate_if(m.conj, arithmetic(value_[k])), load(from + k * kMaskRows));
      }
    }
  }

 private:
  std::uint32_t has_;           // a bit for each block
  std::uint32_t word_[Blocks];  // the one that has the code
  U value_[Blocks];
};

}  // namespace

}  // namespace diagsparse::cuda::mdia
