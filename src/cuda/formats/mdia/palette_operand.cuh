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
  int count;                    // of other diagonals
  OtherDiagonal first;          // the first of them, often the main diagonal: kernels need not wait for its description
  const OtherDiagonal* others;  // all of them
  bool conj;

  __device__ auto value(const U* at) const { return conjugate_if(conj, arithmetic(load(at))); }
};

template <class V>
__device__ const V* moved(const V* p, std::int64_t bytes) {
  return reinterpret_cast<const V*>(reinterpret_cast<const char*>(p) + bytes);
}

// The elements of the lane's rows on one of the other diagonals, for the blocks from `block` on.
template <int Blocks, class U>
struct OtherElements {
  U value[Blocks];
  std::uint32_t has = 0;  // a bit for each block

  // stored: how many values of each block precede, of the diagonals that store them one by one.
  __device__ OtherElements(const Mdia<U>& a, const OtherDiagonal& d, int64 block, int lane,
                           std::uint32_t (&stored)[Blocks]) {
#pragma unroll
    for (int k = 0; k < Blocks; ++k) {
      value[k] = U{};
      if (block + k >= a.blocks()) continue;
      const Mask rows = load(a.mask + (block + k) * a.diagonals + d.number);
      const bool mine = rows >> lane & 1;
      has |= static_cast<std::uint32_t>(mine) << k;
      if (!d.coding.is_stored()) {
        value[k] = load(a.values + a.in_table(d.coding, block + k, lane));
      } else {
        if (mine) value[k] = load_once(a.values + a.begin[block + k] + stored[k] + __popc(rows & below(lane)));
        stored[k] += __popc(rows);
      }
    }
  }

  // x: the element in the column that is equal to the lane's first row.
  template <class V>
  __device__ void add(const PaletteOperand<U>& m, const OtherDiagonal& d, const V* x,
                      Product<U, V> (&sum)[Blocks]) const {
#pragma unroll
    for (int k = 0; k < Blocks; ++k) {
      if (has >> k & 1) {
        sum[k] += multiply(conjugate_if(m.conj, arithmetic(value[k])), load(x + d.offset + k * kMaskRows));
      }
    }
  }
};

// Those on the first of them, loaded early, and on all others.
template <int Blocks, class U>
struct AllOtherElements {
  std::uint32_t stored[Blocks] = {};
  OtherElements<Blocks, U> first;

  __device__ AllOtherElements(const PaletteOperand<U>& m, int64 block, int lane)
      : first(m.a, m.first, m.count > 0 ? block : m.a.blocks(), lane, stored) {}

  template <class V>
  __device__ void add(const PaletteOperand<U>& m, int64 block, int lane, const V* x, Product<U, V> (&sum)[Blocks]) {
    first.add(m, m.first, x, sum);
#pragma unroll 1
    for (int o = 1; o < m.count; ++o) {
      const OtherDiagonal d = m.others[o];
      OtherElements<Blocks, U>(m.a, d, block, lane, stored).add(m, d, x, sum);
    }
  }
};

}  // namespace

}  // namespace diagsparse::cuda::mdia
