// A matrix with a palette in the form that kernels for vectors read, and its diagonals that have more than one value.
#pragma once

#include "device/resident.cuh"
#include "formats/mdia/masks.cuh"
#include "formats/mdia/palette.hpp"

namespace diagsparse::cuda::mdia {

namespace {

// A diagonal of A that has more than one value.
struct OtherDiagonal {
  std::int64_t offset;
  Coding coding;
  std::int64_t number;
};
struct ResidentOthers {
  std::vector<OtherDiagonal> host;
  Array list;
  auto arrays() const { return std::tie(list); }
};
std::shared_ptr<ResidentOthers> resident_others(const Structure& structure) {
  return cached<ResidentOthers>(structure.cache(), "diagonals of several values", [&] {
    const std::vector<Coding> codings = codings_for(table_pointers(static_cast<const Indices&>(structure)));
    const std::vector<int64>& offsets = offsets_of(structure);
    std::vector<OtherDiagonal> others;
    for (std::size_t d = 0; d < codings.size(); ++d) {
      if (codings[d].bits != 0) others.push_back({offsets[d], codings[d], static_cast<std::int64_t>(d)});
    }
    const Array list = upload(others);
    return std::make_shared<ResidentOthers>(ResidentOthers{std::move(others), list});
  });
}

template <class U>
struct PaletteOperand {
  Mdia<U> a;
  int diagonals, middle;        // middle: the number of the first diagonal on or above the main one
  int count;                    // of other diagonals
  OtherDiagonal first;          // the first of them, often the main diagonal: kernels need not wait for its description
  const OtherDiagonal* others;  // all of them
  bool conj;

  __device__ auto value(const U* at) const { return conjugate_if(conj, arithmetic(load(at))); }
  // The diagonal of this rank by the distance from the middle, alternately above and below. Rows that are processed
  // together then read elements of x that are near each other.
  __device__ int number(int rank) const {
    const int above = diagonals - 1 - middle, both = above < middle ? above : middle;
    if (rank <= 2 * both) return rank % 2 != 0 ? middle - (rank + 1) / 2 : middle + rank / 2;
    return above < middle ? middle - (rank - both) : middle + (rank - both);
  }
};

template <class V>
__device__ const V* moved(const V* p, std::int64_t bytes) {
  return reinterpret_cast<const V*>(reinterpret_cast<const char*>(p) + bytes);
}

// The elements of the lane's rows on one of the other diagonals, for the blocks from `block` on. They are loaded in
// three steps, so that other work is done while the loads of each are on their way: codes, values and masks, and x.
template <int Blocks, class U>
class OtherElements {
 public:
  __device__ OtherElements(const Mdia<U>& a, const OtherDiagonal& d, int64 block, int lane) {
#pragma unroll
    for (int k = 0; k < Blocks; ++k) {
      word_[k] = 0;
      if (block + k >= a.blocks()) continue;
      if (d.coding.bits > 0)
        word_[k] = __ldcs(a.codes + (block + k) * a.words + d.coding.word + lane * d.coding.bits / 32);
    }
  }

  // before: how many values of each block precede, of the diagonals that store them one by one.
  __device__ void load_values(const Mdia<U>& a, const OtherDiagonal& d, int64 block, int lane,
                              const std::uint32_t (&before)[Blocks]) {
    has_ = 0;
#pragma unroll
    for (int k = 0; k < Blocks; ++k) {
      value_[k] = U{};
      if (block + k >= a.blocks()) continue;
      const Mask rows = load(a.mask + (block + k) * a.diagonals + d.number);
      const bool mine = rows >> lane & 1;
      has_ |= static_cast<std::uint32_t>(mine) << k;
      if (!d.coding.is_stored()) {
        const std::uint32_t code = word_[k] >> (lane * d.coding.bits % 32) & ((1u << d.coding.bits) - 1);
        value_[k] = load(a.values + d.coding.table + code);
      } else {
        const U* const at = a.values + a.begin[block + k] + before[k] + __popc(rows & below(lane));
        if (mine) value_[k] = load_once(at);
      }
    }
  }

  // x: the element in the column that is equal to the lane's first row.
  template <class V>
  __device__ void add(bool conj, const OtherDiagonal& d, const V* x, Product<U, V> (&sum)[Blocks]) const {
#pragma unroll
    for (int k = 0; k < Blocks; ++k) {
      if (has_ >> k & 1) {
        sum[k] += multiply(conjugate_if(conj, arithmetic(value_[k])), load(x + d.offset + k * kMaskRows));
      }
    }
  }

 private:
  std::uint32_t has_;           // a bit for each block
  std::uint32_t word_[Blocks];  // the one that has the code
  U value_[Blocks];
};

// Adds the products of all other diagonals, of which the values of the first are loaded.
template <int Blocks, class U, class V>
__device__ void add_others(const PaletteOperand<U>& m, const OtherElements<Blocks, U>& first, int64 block, int lane,
                           const V* x, Product<U, V> (&sum)[Blocks]) {
  first.add(m.conj, m.first, x, sum);
  if (m.count <= 1) return;
  std::uint32_t before[Blocks] = {};
#pragma unroll 1
  for (int o = 0; o < m.count; ++o) {
    const OtherDiagonal d = m.others[o];
    if (o > 0) {
      OtherElements<Blocks, U> next(m.a, d, block, lane);
      next.load_values(m.a, d, block, lane, before);
      next.add(m.conj, d, x, sum);
    }
    for (int k = 0; k < Blocks && d.coding.is_stored(); ++k) {
      before[k] += __popc(m.a.mask_at(block + k, d.number));
    }
  }
}

}  // namespace

}  // namespace diagsparse::cuda::mdia
