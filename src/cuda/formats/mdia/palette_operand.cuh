// A matrix with a palette in the form that kernels for vectors read: all diagonals but one have a single value.
#pragma once

#include <algorithm>

#include "device/resident.cuh"
#include "formats/mdia/masks.cuh"
#include "formats/mdia/palette.hpp"

namespace diagsparse::cuda::mdia {

namespace {

// The order of diagonals by their distance from the middle one, alternately below and above it. Rows that are processed
// together then read elements of x that are near each other.
struct FromMiddle {
  std::uint32_t middle;
  std::uint32_t both;   // how many there are at least below the middle and above it
  std::int32_t beyond;  // 1 if all further ones are above, and -1 if they are below

  constexpr std::uint32_t number(std::uint32_t rank) const {
    const auto steps = static_cast<std::int32_t>((rank + 1) / 2), alone = static_cast<std::int32_t>(rank - both);
    const std::int32_t alternating = rank % 2 != 0 ? -steps : steps;
    return middle + (rank <= 2 * both ? alternating : beyond * alone);
  }
};

// A diagonal of A.
struct alignas(16) PaletteDiagonal {
  std::int64_t offset;
  std::int32_t table;  // the position of its only value, or of both values; negative if it has more
  std::int32_t word;   // of the codes of a block, if it has two values; otherwise negative
};
// The diagonal that has more values than the others, often the main one.
struct OtherDiagonal {
  std::int32_t number = -1;  // negative if there is none
  std::int64_t offset = 0;
  Coding coding{0, 0, -1};
};
struct ResidentPalette {
  FromMiddle order;
  Array list;                        // of the diagonals, in this order
  int one = 0, two = 0, others = 0;  // how many diagonals have one value, two, and more
  OtherDiagonal several, more;       // the last one that has several values, and that has more than two

  auto arrays() const { return std::tie(list); }

  // Whether there is a kernel for vectors in which all diagonals but one have a single value, or at most two.
  bool ones() const { return two + others <= 1 && one > 0; }
  bool signs() const { return others <= 1 && one + two > 0; }
};
inline std::shared_ptr<ResidentPalette> resident_palette(const Structure& structure) {
  return cached<ResidentPalette>(structure.cache(), "diagonals of the palette", [&] {
    const std::vector<Coding> codings = codings_for(table_pointers(static_cast<const Indices&>(structure)));
    const std::vector<int64>& offsets = offsets_of(structure);
    const auto count = static_cast<std::uint32_t>(offsets.size());  // fewer than 2^27
    const auto below = static_cast<std::uint32_t>(std::ranges::lower_bound(offsets, 0) - offsets.begin());
    ResidentPalette palette;
    if (count > 0) {
      const std::uint32_t middle = std::min(below, count - 1), above = count - 1 - middle;
      palette.order = {middle, std::min(middle, above), above > middle ? 1 : -1};
    }
    std::vector<PaletteDiagonal> list;
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      const std::uint32_t d = palette.order.number(rank);
      const Coding& coding = codings[d];
      const OtherDiagonal here{static_cast<std::int32_t>(d), offsets[d], coding};
      (coding.bits == 0 ? palette.one : coding.bits == 1 ? palette.two : palette.others) += 1;
      if (coding.bits != 0) palette.several = here;
      if (coding.bits < 0 || coding.bits > 1) palette.more = here;
      const bool few = coding.bits == 0 || coding.bits == 1;
      // If a kernel for vectors is suitable, all tables together have fewer than 2^31 values.
      list.push_back({offsets[d], few ? static_cast<std::int32_t>(coding.table) : -1,
                      coding.bits == 1 ? static_cast<std::int32_t>(coding.word) : -1});
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
  const PaletteDiagonal* diagonal;  // in the order from the middle
  FromMiddle order;
  std::uint32_t rows, cols, blocks, diagonals, words;
  OtherDiagonal other;
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

constexpr int kStaged = 64;  // diagonals that are examined together, two per lane

// What is listed of a diagonal that has one value.
template <class W>
struct alignas(16) OneValue {
  std::int64_t across;  // from the row to the element of x, in bytes
  W value;
};

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
// other work is done while the loads of each are on their way: codes, values and masks, and x, which the kernel loads.
template <int Blocks, class U>
class OtherElements {
 public:
  __device__ OtherElements(const PaletteOperand<U>& m, const RowBlocks<Blocks>& blocks, std::uint32_t lane) {
    const Coding& coding = m.other.coding;
    if (coding.is_stored()) return;
    const std::uint32_t* const word =
        m.codes + std::uint64_t{blocks.first} * m.words + (coding.word + (lane * coding.bits >> 5));
#pragma unroll
    for (int k = 0; k < Blocks; ++k) word_[k] = __ldcs(blocks.at(word, k, m.words));
  }

  // mask: of the rows of each block that have an element.
  __device__ void load_values(const PaletteOperand<U>& m, const RowBlocks<Blocks>& blocks, std::uint32_t lane) {
    const Coding& coding = m.other.coding;
    has_ = 0;
    if (m.other.number < 0) return;
    Mask here[Blocks];
    const Mask* const mask = m.masks(blocks.first) + m.other.number;
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

  __device__ bool has(int k) const { return has_ >> k & 1; }
  __device__ auto value(const PaletteOperand<U>& m, int k) const { return conjugate_if(m.conj, arithmetic(value_[k])); }

 private:
  std::uint32_t has_;           // a bit for each block
  std::uint32_t word_[Blocks];  // the one that has the code
  U value_[Blocks];
};

}  // namespace

}  // namespace diagsparse::cuda::mdia
