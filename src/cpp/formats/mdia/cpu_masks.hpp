// Hollow diagonals as the CPU reads them: 32 rows of one diagonal of op(A), from any row on.
#pragma once

#include <algorithm>
#include <bit>

#include "cpu/parallel.hpp"
#include "formats/mdia/layout.hpp"

namespace diagsparse {

template <class T>
class MaskedOperand {
 public:
  Mdia<T> a;
  std::vector<MaskedDiagonal> diagonals;

  MaskedOperand(const Structure& structure, const T* values, std::vector<MaskedDiagonal> diagonals,
                std::shared_ptr<const MaskedPlaces> places = {})  // which masks alone do without
      : a(Mdia<T>::over(structure, values)),
        diagonals(std::move(diagonals)),
        turned_(std::ranges::partition_point(this->diagonals, &MaskedDiagonal::turned) - this->diagonals.begin()),
        places_(std::move(places)) {}
  MaskedOperand(const Matrix& m, Op op)
      : MaskedOperand(*m.structure, m.values.as<T>(), masked_diagonals(*m.structure, op), masked_places(*m.structure)) {
  }

  int64 turned() const { return turned_; }  // how many are: the first ones; the others are all that are stored

  // Which of the rows from `row` on have an element on the diagonal; the lowest bit is `row`.
  [[gnu::always_inline]] Mask mask(const MaskedDiagonal& d, int64 row) const {
    const int64 first = first_row(d, row), block = first >> kMaskShift, shift = first & (kMaskRows - 1);
    const Mask low = a.mask_at(block, d.number) >> shift;
    return shift == 0 ? low : low | a.mask_at(block + 1, d.number) << (kMaskRows - shift);
  }

  // Calls take(rows, values) for the one or two runs of values that they lie in: which rows, and their values side by
  // side. There are none where no row has an element.
  template <class F>
  [[gnu::always_inline]] void runs(const MaskedDiagonal& d, int64 row, const F& take) const {
    const int64 first = first_row(d, row), block = first >> kMaskShift, shift = first & (kMaskRows - 1);
    const Mask here = a.mask_at(block, d.number), low = here >> shift;
    if (low != 0) take(low, values(block, d) + std::popcount(here & first_rows(shift)));
    if (shift == 0) return;
    const Mask high = a.mask_at(block + 1, d.number) << (kMaskRows - shift);
    if (high != 0) take(high, values(block + 1, d));
  }

  // The same of every diagonal.
  void masks(int64 row, Mask* out) const {
    for (int64 i = 0; i < turned_; ++i) out[i] = mask(diagonals[i], row);
    if (turned_ == static_cast<int64>(diagonals.size())) return;
    const int64 block = row >> kMaskShift, shift = row & (kMaskRows - 1);
    const auto of_block = [&](int64 at) { return at < 0 || at >= a.blocks() ? nullptr : a.mask + at * a.diagonals; };
    const Mask *const low = of_block(block), *const high = shift == 0 ? nullptr : of_block(block + 1);
    out += turned_;
    for (int64 d = 0; d < a.diagonals; ++d) {
      out[d] = (low ? low[d] >> shift : 0) | (high ? high[d] << (kMaskRows - shift) : 0);
    }
  }

 private:
  // Of the diagonal that is stored.
  static int64 first_row(const MaskedDiagonal& d, int64 row) { return d.turned ? row + d.offset : row; }
  const T* values(int64 block, const MaskedDiagonal& d) const {
    return a.values + a.begin[block] + places_->from_block.as<std::uint32_t>()[block * a.diagonals + d.number];
  }

  int64 turned_;
  std::shared_ptr<const MaskedPlaces> places_;
};

// Calls f(block) for each block of rows, neighbours on one thread; `work` counts steps.
template <class F>
void each_block(int64 rows, int64 work, const F& f) {
  const int64 blocks = masks_along(rows), tasks = std::min(blocks, tasks_for(work));
  parallel_for(tasks, work, [&](int64 task) {
    for (int64 b = blocks * task / tasks; b < blocks * (task + 1) / tasks; ++b) f(b);
  });
}

// Calls f(row) for each row of a mask, in order.
template <class F>
[[gnu::always_inline]] inline void each_row_of(Mask mask, const F& f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

}  // namespace diagsparse
