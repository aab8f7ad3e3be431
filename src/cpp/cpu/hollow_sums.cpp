// Sums of hollow diagonals on the CPU.
#include "core/hollow_sums.hpp"

#include "cpu/hollow.hpp"

namespace diagsparse {

Array masks_of_sum(const Structure& a, const Structure& b, const std::vector<HollowTerms>& terms, int64 rows) {
  const HollowOperand<char> left(a, nullptr, {}), right(b, nullptr, {});
  const auto diagonals = static_cast<int64>(terms.size());
  Array mask = Array::empty(DType::u32, {masks_along(rows), diagonals});
  each_block(rows, 4 * mask.size(), [&](int64 block) {
    Mask* out = mask.as<Mask>() + block * diagonals;
    for (const HollowTerms& t : terms) {
      const Mask of_a = t.a.number < 0 ? 0 : left.mask(t.a, kMaskRows * block);
      const Mask of_b = t.b.number < 0 ? 0 : right.mask(t.b, kMaskRows * block);
      *out++ = of_a | of_b;
    }
  });
  return mask;
}

void add_values(const EntryTerm& a, const EntryTerm& b, const std::vector<HollowTerms>& terms, const Matrix& c) {
  with_value_type(c.dtype, [&](auto zero) {
    using T = decltype(zero);
    const HollowOperand<T> left(*a.matrix, a.op), right(*b.matrix, b.op);
    const Factor<T> alpha(a.factor), beta(b.factor);
    const auto to = Mdia<T>::of(c);
    each_block(c.rows, 4 * c.values.size() + to.blocks() * to.diagonals, [&](int64 block) {
      const int64 row = kMaskRows * block;
      T* out = c.values.as<T>() + to.begin[block];
      for (std::size_t d = 0; d < terms.size(); ++d) {
        const HollowTerms& t = terms[d];
        const Mask rows = to.mask_at(block, static_cast<int64>(d));
        if (rows == 0) continue;
        T sums[kMaskRows];
        Mask of_a = 0;
        if (t.a.number >= 0) {
          left.runs(t.a, row, [&](Mask some, const T* value) {
            of_a |= some;
            each_row_of(some, [&](int i) { sums[i] = alpha * conjugate_if(t.a.conjugated, *value++); });
          });
        }
        if (t.b.number >= 0) {
          right.runs(t.b, row, [&](Mask some, const T* value) {
            each_row_of(some, [&](int i) {
              const T term = beta * conjugate_if(t.b.conjugated, *value++);
              sums[i] = of_a >> i & 1 ? sums[i] + term : term;
            });
          });
        }
        each_row_of(rows, [&](int i) { *out++ = sums[i]; });
      }
    });
  });
}

}  // namespace diagsparse
