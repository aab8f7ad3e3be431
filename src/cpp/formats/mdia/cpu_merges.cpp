// Sums and element-wise products of masked diagonals on the CPU.
#include "formats/mdia/cpu_masks.hpp"
#include "formats/mdia/merges.hpp"

namespace diagsparse {

namespace {

// Calls f(row, value) for each element of a diagonal of an operand in the 32 rows from `row` on.
template <class T, class F>
void for_each_value(const MaskedOperand<T>& m, const MaskedDiagonal& d, int64 row, const F& f) {
  if (d.number < 0) return;
  m.visit_runs(d, row, [&](Mask rows, const T* value) {
    for_each_row(rows, [&](int i) { f(i, conjugate_if(d.conjugated, *value++)); });
  });
}

}  // namespace

Array masks_of_merge(const ScaledMatrix& a, const ScaledMatrix& b, const std::vector<MaskedTerms>& terms, int64 rows,
                     Combine how) {
  return with_value_type(a.matrix->dtype, [&](auto zero) {
    using T = decltype(zero);
    const MaskedOperand<T> left(*a.matrix, a.op), right(*b.matrix, b.op);
    const auto mask_of = [&](const MaskedTerms& t, int64 row) {
      const Mask mask_a = t.a.number < 0 ? 0 : left.mask(t.a, row), mask_b = t.b.number < 0 ? 0 : right.mask(t.b, row);
      if (how == Combine::sum) return mask_a | mask_b;
      Mask mask = mask_a & mask_b;
      const auto add_if_not_finite = [&](int i, T value) { mask |= Mask{!is_zero(value * T{})} << i; };
      if ((mask_a & ~mask_b) != 0) for_each_value(left, t.a, row, add_if_not_finite);
      if ((mask_b & ~mask_a) != 0) for_each_value(right, t.b, row, add_if_not_finite);
      return mask;
    };
    const auto diagonals = static_cast<int64>(terms.size());
    Array mask = Array::empty(DType::u32, {masks_along(rows), diagonals});
    for_each_block(rows, 4 * mask.size(), [&](int64 block) {
      Mask* out = mask.as<Mask>() + block * diagonals;
      for (const MaskedTerms& t : terms) *out++ = mask_of(t, kMaskRows * block);
    });
    return mask;
  });
}

void merge_values(const ScaledMatrix& a, const ScaledMatrix& b, const std::vector<MaskedTerms>& terms, const Matrix& c,
                  Combine how) {
  with_value_type(c.dtype, [&](auto zero) {
    using T = decltype(zero);
    const MaskedOperand<T> left(*a.matrix, a.op), right(*b.matrix, b.op);
    const Factor<T> alpha(a.factor), beta(b.factor);
    const auto to = Mdia<T>::of(c);
    for_each_block(c.rows, 4 * c.values.size() + to.blocks() * to.diagonals, [&](int64 block) {
      const int64 row = kMaskRows * block;
      T* out = c.values.as<T>() + to.begin[block];
      for (std::size_t d = 0; d < terms.size(); ++d) {
        const Mask rows = to.mask_at(block, static_cast<int64>(d));
        if (rows == 0) continue;
        T merged[kMaskRows] = {};
        Mask mask_a = 0, mask_both = 0;
        for_each_value(left, terms[d].a, row, [&](int i, T value) {
          merged[i] = alpha * value;
          mask_a |= Mask{1} << i;
        });
        for_each_value(right, terms[d].b, row, [&](int i, T value) {
          const T term = beta * value;
          mask_both |= mask_a & Mask{1} << i;
          if (how == Combine::product) merged[i] = merged[i] * term;
          else merged[i] = mask_a >> i & 1 ? merged[i] + term : term;
        });
        if (how == Combine::product) for_each_row(mask_a & ~mask_both, [&](int i) { merged[i] = merged[i] * T{}; });
        for_each_row(rows, [&](int i) { *out++ = merged[i]; });
      }
    });
  });
}

}  // namespace diagsparse
