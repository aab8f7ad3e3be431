// Which types of column indices are read by kernels.
#pragma once

#include <array>
#include <memory>

#include "core/columns.hpp"
#include "device/resident.cuh"

namespace diagsparse::cuda {

// Whether there are kernels that read columns of type I: for 16 bits only if both operands are real, or both complex,
// and for 8 bits only if they have one type. Products of other pairs use `long_columns`.
template <class I, class U, class V>
constexpr bool reads_columns = sizeof(I) == 4   ? true
                               : sizeof(I) == 2 ? is_complex<U> == is_complex<V>
                                                : std::is_same_v<U, V>;

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
