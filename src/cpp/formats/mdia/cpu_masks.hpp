// Access to masked diagonals on the CPU: 32 consecutive rows of a diagonal of op(A), starting at any row.
#pragma once

#include <algorithm>
#include <bit>

#include "cpu/parallel.hpp"
#include "formats/mdia/layout.hpp"

namespace diagsparse {

// Calls f(row) for each row of a mask, in order.
template <class F>
[[gnu::always_inline]] inline void for_each_row(Mask mask, const F& f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

// Looks up the values of these rows of a diagonal with a table, contiguous in `buffer`, which has room for kPackedRows.
// Inlined, it would slow down products without palettes. Each set of instructions has its own.
template <class T>
[[gnu::noinline]] static const T* look_up_packed(const Mdia<T>& a, int64 block, int64 d, Mask rows, T* buffer) {
  const Coding& coding = a.codings[d];
  if (coding.bits == 0) {
    std::fill_n(buffer, kPackedRows, a.values[coding.table]);
  } else {
    T* to = buffer;
    for_each_row(rows, [&](int i) { *to++ = a.values[a.in_table(coding, block, i)]; });
  }
  return buffer;
}

// The values of these rows of a diagonal of a block, contiguous: `stored` if they are stored one by one; else they are
// looked up.
template <class T>
[[gnu::always_inline]] inline const T* packed_values(const Mdia<T>& a, int64 block, int64 d, Mask rows, const T* stored,
                                                     T* buffer) {
  return a.is_coded(d) ? look_up_packed(a, block, d, rows, buffer) : stored;
}

template <class T>
class MaskedOperand {
 public:
  Mdia<T> a;
  std::vector<MaskedDiagonal> diagonals;

  MaskedOperand(const Structure& structure, const T* values, std::vector<MaskedDiagonal> diagonals,
                std::shared_ptr<const ValueStarts> starts = {})  // not needed to read masks only
      : a(Mdia<T>::over(structure, values)),
        diagonals(std::move(diagonals)),
        transposed_count_(std::ranges::partition_point(this->diagonals, &MaskedDiagonal::is_transposed) -
                          this->diagonals.begin()),
        starts_(std::move(starts)) {}
  MaskedOperand(const Matrix& m, Op op)
      : MaskedOperand(*m.structure, m.values.as<T>(), masked_diagonals(*m.structure, op), value_starts(*m.structure)) {}

  // How many of the diagonals are transposed. These come first, followed by all stored diagonals.
  int64 transposed_count() const { return transposed_count_; }

  // The mask of the 32 rows from `row` on that have an element on the diagonal. The lowest bit is `row`.
  [[gnu::always_inline]] Mask mask(const MaskedDiagonal& d, int64 row) const {
    const int64 first = first_row(d, row), block = first >> kMaskShift, shift = first & (kMaskRows - 1);
    const Mask low = a.mask_at(block, d.number) >> shift;
    return shift == 0 ? low : low | a.mask_at(block + 1, d.number) << (kMaskRows - shift);
  }

  // Calls visit(rows, values) for the elements of these rows, which are stored in up to two runs of consecutive values:
  // the mask of their rows, and their values.
  template <class F>
  [[gnu::always_inline]] void visit_runs(const MaskedDiagonal& d, int64 row, const F& visit) const {
    const int64 first = first_row(d, row), block = first >> kMaskShift, shift = first & (kMaskRows - 1);
    const Mask block_mask = a.mask_at(block, d.number), low = block_mask >> shift;
    T buffer[kPackedRows];
    const auto values = [&](int64 at, Mask rows) {
      const T* const stored = a.is_coded(d.number) ? nullptr : a.values + a.begin[at] + start(at, d);
      return packed_values(a, at, d.number, rows, stored, buffer);
    };
    if (low != 0) visit(low, values(block, block_mask) + std::popcount(block_mask & first_rows(shift)));
    if (shift == 0) return;
    const Mask next = a.mask_at(block + 1, d.number), high = next << (kMaskRows - shift);
    if (high != 0) visit(high, values(block + 1, next));
  }

  // Computes mask() of all diagonals.
  void masks(int64 row, Mask* out) const {
    for (int64 i = 0; i < transposed_count_; ++i) out[i] = mask(diagonals[i], row);
    if (transposed_count_ == static_cast<int64>(diagonals.size())) return;
    const int64 block = row >> kMaskShift, shift = row & (kMaskRows - 1);
    const auto of_block = [&](int64 at) { return at < 0 || at >= a.blocks() ? nullptr : a.mask + at * a.diagonals; };
    const Mask *const low = of_block(block), *const high = shift == 0 ? nullptr : of_block(block + 1);
    out += transposed_count_;
    for (int64 d = 0; d < a.diagonals; ++d) {
      out[d] = (low ? low[d] >> shift : 0) | (high ? high[d] << (kMaskRows - shift) : 0);
    }
  }

 private:
  // The row of the stored diagonal.
  static int64 first_row(const MaskedDiagonal& d, int64 row) { return d.is_transposed ? row + d.offset : row; }
  int64 start(int64 block, const MaskedDiagonal& d) const {
    return starts_->from_block.as<std::uint32_t>()[block * a.diagonals + d.number];
  }

  int64 transposed_count_;
  std::shared_ptr<const ValueStarts> starts_;
};

// Calls f(block) for each block of rows in parallel, where neighbouring blocks belong to the same task. `work` is a
// number of operations.
template <class F>
void for_each_block(int64 rows, int64 work, const F& f) {
  const int64 blocks = masks_along(rows), tasks = std::min(blocks, tasks_for(work));
  parallel_for(tasks, work, [&](int64 task) {
    for (int64 b = blocks * task / tasks; b < blocks * (task + 1) / tasks; ++b) f(b);
  });
}

}  // namespace diagsparse
