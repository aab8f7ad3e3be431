// The operands of the kernel "dense_tiles" (matmul_dense_tiles.cpp), packed for its tiles:
//
//   A: the elements of kRows rows, column by column     B: the elements of kCols columns, row by row
//
// Both are padded with zeros where nothing is stored. A thread packs the rows of A once for each slice of k, and the
// columns of B once for its run of rows.
#pragma once

#include <algorithm>
#include <vector>

#include "core/hulls.hpp"
#include "kernels/simd/dense_tile.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

constexpr int64 kMaxPacked = 16 << 20;  // bytes of packed B of a thread, but at least kMinDepth rows of it
constexpr int64 kMinDepth = 256;
constexpr int kPanels = 4;  // of kRows rows, by which packed columns of B are multiplied in turn

template <class T>
struct TileOperands {
  using Tile = DenseTile<T>;
  static constexpr int kRows = Tile::kRows, kCols = Tile::kCols;
  static constexpr int64 kBlock = kPanels * kRows;

  // The depth of a slice of k, the number of slots for packed columns of B (kCols columns each), and the number of
  // packed values of A, of B, and of a block of C.
  struct Sizes {
    int64 depth, slots, of_a, of_b, of_c;

    Sizes(const Plan& plan, const Hulls& in) {
      const int64 inner = sums_of(plan).inner, diagonals = in.c.high - in.c.low + 1;
      const int64 window = std::min(plan.cols, kBlock + diagonals) + 2 * kCols;
      const int64 rows_of_b = std::min(inner, in.b.high - in.b.low + kCols);
      const int64 most = kMaxPacked / (window * static_cast<int64>(sizeof(T)));
      depth = rows_of_b <= most ? inner : std::max<int64>(kMinDepth, most);
      slots = window / kCols + 1;
      of_a = kBlock * std::min(depth, in.a.high - in.a.low + kRows);
      of_b = slots * kCols * std::min(depth, rows_of_b);
      of_c = kBlock * diagonals;
    }
  };

  // Columns j to j + kCols - 1 are in slot j / kCols % slots.
  struct Packed {
    std::vector<T> values;
    std::vector<int64> column;  // the first column in each slot
  };

  const Plan& plan;
  const Sums& sums;
  const Hulls& in;
  const T *a, *b;
  const Sizes sizes;

  TileOperands(const Plan& plan, const Hulls& in, const Matrix& a, const Matrix& b)
      : plan(plan), sums(sums_of(plan)), in(in), a(a.values.as<T>()), b(b.values.as<T>()), sizes(plan, in) {}

  // The first row of B with elements in this or a later column, and the end of those with elements in this or an
  // earlier one.
  int64 first_row_of(int64 column) const { return std::clamp<int64>(column - in.b.high, 0, sums.inner); }
  int64 last_row_of(int64 column) const { return std::clamp<int64>(column - in.b.low + 1, 0, sums.inner); }

  // Packs rows i to i + rows - 1 of A, columns k0 to k1 - 1.
  void pack_rows(int64 i, int64 rows, int64 k0, int64 k1, T* to) const {
    std::fill_n(to, (k1 - k0) * kRows, T{});
    for (const Diagonal& d : sums.a) {
      const int64 first = std::max(i, k0 - d.shift), last = std::min(i + rows, k1 - d.shift);
      if (first >= last) continue;
      T* at = to + (first + d.shift - k0) * kRows + (first - i);
      Tile::template spread<kRows>(a + d.base + first, last - first, plan.op_a.conjugated, at);
    }
  }

  // Packs columns j to j + kCols - 1 of B, rows k0 to k1 - 1.
  const T* packed_columns(int64 j, int64 k0, int64 k1, Packed& packed) const {
    const int64 slot = j / kCols % sizes.slots;
    T* const to = packed.values.data() + slot * (static_cast<int64>(packed.values.size()) / sizes.slots);
    if (packed.column[slot] == j) return to;
    packed.column[slot] = j;
    std::fill_n(to, (k1 - k0) * kCols, T{});
    const int64 past = std::min<int64>(j + kCols, plan.cols);
    for (const Diagonal& d : sums.b) {
      const int64 first = std::max(k0, j - d.shift), last = std::min(k1, past - d.shift);
      if (first >= last) continue;
      T* at = to + (first - k0) * kCols + (first + d.shift - j);
      Tile::template spread<kCols>(b + d.base + first, last - first, plan.op_b.conjugated, at);
    }
    return to;
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
