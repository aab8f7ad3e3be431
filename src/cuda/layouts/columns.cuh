// Column indices as kernels read them, and which of their types are read.
#pragma once

#include <array>
#include <memory>

#include "core/columns.hpp"
#include "device/resident.cuh"
#include "device/values.cuh"

namespace diagsparse::cuda {

// Whether there are kernels that read columns of type I: for 16 bits only if both operands are real, or both complex,
// and for 8 bits only if they have one type. Products of other pairs use `long_columns`.
template <class I, class U, class V>
constexpr bool reads_columns = sizeof(I) == 4   ? true
                               : sizeof(I) == 2 ? is_complex<U> == is_complex<V>
                                                : std::is_same_v<U, V>;

// A column index that has been loaded, and its base.
template <class I>
struct Fetched {
  I index = static_cast<I>(-1);  // initially padding
  std::int32_t base = 0;

  Fetched() = default;
  __device__ Fetched(const Columns<I>& columns, int64 position, int64 chunk) : index(load(columns.indices + position)) {
    if (!std::is_signed_v<I> && columns.bases) base = load(columns.bases + chunk);
  }
  // Negative for padding.
  __device__ std::int32_t column() const {
    if constexpr (std::is_signed_v<I>) return index;
    else return Columns<I>::padding(index) ? -1 : index + base;
  }
};

// The column of entry w of stored row p, which is at position e; negative for padding.
template <class A>
__device__ std::int32_t column_of(const A& a, int64 p, int64 w, int64 e) {
  if constexpr (requires { a.columns; }) return Fetched(a.columns, e, a.chunk(p, w, e)).column();
  else return load(a.indices + e);
}

// The structure with 32-bit columns of a matrix with short ones, and the arrays of these columns.
template <std::size_t N>
struct LongColumns {
  StructurePtr structure;
  std::array<Array, N> columns;

  const std::array<Array, N>& arrays() const { return columns; }
};

// The same matrix with 32-bit columns, over the same values. `lengthen` computes it, at the first call for a structure,
// which waits for it; `names` are those of its arrays of columns.
template <class Lengthen, class... Names>
Matrix long_columns(const Matrix& m, const Lengthen& lengthen, Names... names) {
  using Cached = LongColumns<sizeof...(Names)>;
  const auto columns = cached<Cached>(m.structure->cache(), "long columns", [&] {
    const StructurePtr structure = lengthen(m).structure;
    const auto& parts = static_cast<const Indices&>(*structure);
    return std::make_shared<Cached>(Cached{structure, {parts.at(names)...}});
  });
  return {columns->structure, m.values};
}

}  // namespace diagsparse::cuda
