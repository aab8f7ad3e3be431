// The masks of a product of masked diagonals on the CPU.
#include <algorithm>
#include <numeric>

#include "cpu/parallel.hpp"
#include "formats/mdia/cpu_masks.hpp"
#include "formats/mdia/products.hpp"

namespace diagsparse {

Array masks_of_product(const Structure& left, const Structure& right, MaskedWork& work, int64 rows, int64 diagonals) {
  const MaskedOperand<char> a(left, nullptr, work.a), b(right, nullptr, work.b);
  const int64 blocks = masks_along(rows), steps = 2 * blocks * static_cast<int64>(work.to.size());
  Array mask = Array::zeros(DType::u32, {blocks, diagonals});
  const int64 tasks = std::min(blocks, tasks_for(steps));
  std::vector<int64> multiply_adds(tasks);
  parallel_for(tasks, steps, [&](int64 task) {
    std::vector<Mask> windows(work.b.size());
    for (int64 block = blocks * task / tasks; block < blocks * (task + 1) / tasks; ++block) {
      Mask* const masks_c = mask.as<Mask>() + block * diagonals;
      for (std::size_t i = 0; i < work.a.size(); ++i) {
        const Mask mask_a = a.mask(work.a[i], kMaskRows * block);
        if (mask_a == 0) continue;
        b.masks(kMaskRows * block + work.a[i].offset, windows.data());
        const std::int32_t* const to = work.to.data() + i * work.b.size();
        for (std::size_t j = 0; j < work.b.size(); ++j) {
          const Mask both = mask_a & windows[j];
          if (both == 0 || to[j] < 0) continue;
          masks_c[to[j]] |= both;
          multiply_adds[task] += std::popcount(both);
        }
      }
    }
  });
  work.multiply_adds = std::reduce(multiply_adds.begin(), multiply_adds.end(), int64{0});
  return mask;
}

std::vector<bool> columns_in_use(const Array& mask) {
  const int64 diagonals = mask.shape.cols;
  std::vector<Mask> any(diagonals);
  for (int64 b = 0; b < mask.shape.rows; ++b) {
    for (int64 d = 0; d < diagonals; ++d) any[d] |= mask.as<Mask>()[b * diagonals + d];
  }
  return {any.begin(), any.end()};
}

Array select_columns(const Array& mask, const std::vector<bool>& is_selected) {
  Array selected = Array::empty(DType::u32, {mask.shape.rows, std::ranges::count(is_selected, true)});
  const Mask* from = mask.as<Mask>();
  Mask* to = selected.as<Mask>();
  for (int64 b = 0; b < mask.shape.rows; ++b) {
    for (const bool column_is_selected : is_selected) {
      if (column_is_selected) *to++ = *from;
      ++from;
    }
  }
  return selected;
}

}  // namespace diagsparse
