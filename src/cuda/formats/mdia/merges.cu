// Sums and element-wise products of masked diagonals on the GPU.
#include "formats/mdia/masks.cuh"
#include "formats/mdia/merges.hpp"

namespace diagsparse {

namespace cuda::mdia {

namespace {

// A thread processes a block of rows of a diagonal of C.
__global__ void __launch_bounds__(kBlock)
    find_sum_masks(const MaskedOperand<char> a, const MaskedOperand<char> b, const MaskedTerms* terms, int64 blocks,
                   int64 diagonals, Mask* mask) {
  const int64 at = thread_index();
  if (at >= blocks * diagonals) return;
  const MaskedTerms t = terms[at % diagonals];
  const int64 row = kMaskRows * (at / diagonals);
  mask[at] = (t.a.number < 0 ? 0 : a.mask(t.a, row)) | (t.b.number < 0 ? 0 : b.mask(t.b, row));
}

// The merged element of a row on one diagonal; at most one of the positions is negative.
template <class T>
__device__ T merged_element(Combine how, const MaskedOperand<T>& a, const Factor<T>& alpha, const MaskedOperand<T>& b,
                            const Factor<T>& beta, const MaskedTerms& t, int64 in_a, int64 in_b) {
  const T left = in_a < 0 ? T{} : alpha * a.value(t.a, in_a), right = in_b < 0 ? T{} : beta * b.value(t.b, in_b);
  if (how == Combine::product) return left * right;
  return in_a < 0 ? right : in_b < 0 ? left : left + right;
}

// In both kernels, a warp processes a block of rows of C, and a lane a row.
template <class T>
__global__ void __launch_bounds__(kBlock)
    find_product_masks(const MaskedOperand<T> a, const MaskedOperand<T> b, const MaskedTerms* terms, int64 blocks,
                       int64 diagonals, Mask* mask) {
  const int64 block = thread_index() / 32, row = kMaskRows * block + threadIdx.x % 32;
  if (block >= blocks) return;
  for (int64 d = 0; d < diagonals; ++d) {
    const MaskedTerms t = terms[d];
    const int64 in_a = t.a.number < 0 ? -1 : a.position(t.a, row), in_b = t.b.number < 0 ? -1 : b.position(t.b, row);
    bool is_stored = in_a >= 0 && in_b >= 0;
    if (in_a >= 0 && in_b < 0) is_stored = !is_finite(a.value(t.a, in_a));
    if (in_b >= 0 && in_a < 0) is_stored = !is_finite(b.value(t.b, in_b));
    const Mask rows = __ballot_sync(~0u, is_stored);
    if (threadIdx.x % 32 == 0) mask[block * diagonals + d] = rows;
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    merge_rows(Combine how, const MaskedOperand<T> a, const Factor<T> alpha, const MaskedOperand<T> b,
               const Factor<T> beta, const MaskedTerms* terms, const Mdia<T> c, T* out) {
  const int64 block = thread_index() / 32, row = kMaskRows * block + threadIdx.x % 32;
  if (block >= c.blocks()) return;
  const int lane = threadIdx.x % 32;
  out += c.begin[block];
#pragma unroll 4
  for (int64 d = 0; d < c.diagonals; ++d) {
    const Mask rows = c.mask[block * c.diagonals + d];
    if (rows >> lane & 1) {
      const MaskedTerms t = terms[d];
      const int64 in_a = t.a.number < 0 ? -1 : a.position(t.a, row), in_b = t.b.number < 0 ? -1 : b.position(t.b, row);
      out[__popc(rows & below(lane))] = merged_element(how, a, alpha, b, beta, t, in_a, in_b);
    }
    out += __popc(rows);
  }
}

}  // namespace

}  // namespace cuda::mdia

using namespace cuda;
using namespace cuda::mdia;

Array masks_of_merge(const ScaledMatrix& a, const ScaledMatrix& b, const std::vector<MaskedTerms>& terms, int64 rows,
                     Combine how) {
  const int64 blocks = masks_along(rows), diagonals = static_cast<int64>(terms.size());
  Array mask = Array::empty(DType::u32, {blocks, diagonals});
  const Array resident = upload(terms);
  const auto* const on_device = resident.as<const MaskedTerms>();
  if (how == Combine::sum) {
    launch("find sum masks", find_sum_masks, cuda::blocks(blocks * diagonals), dim3(kBlock),
           MaskedOperand<char>{Mdia<char>::over(*a.matrix->structure, nullptr), nullptr},
           MaskedOperand<char>{Mdia<char>::over(*b.matrix->structure, nullptr), nullptr}, on_device, blocks, diagonals,
           mask.as<Mask>());
    return mask;
  }
  with_value_type(a.matrix->dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("find product masks", find_product_masks<T>, cuda::blocks(32 * blocks), dim3(kBlock), operand<T>(*a.matrix),
           operand<T>(*b.matrix), on_device, blocks, diagonals, mask.as<Mask>());
  });
  return mask;
}

void merge_values(const ScaledMatrix& a, const ScaledMatrix& b, const std::vector<MaskedTerms>& terms, const Matrix& c,
                  Combine how) {
  const Array resident = upload(terms);
  with_value_type(c.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("merge rows", merge_rows<T>, cuda::blocks(32 * masks_along(c.rows)), dim3(kBlock), how,
           operand<T>(*a.matrix), Factor<T>(a.factor), operand<T>(*b.matrix), Factor<T>(b.factor),
           resident.as<const MaskedTerms>(), Mdia<T>::of(c), c.values.as<T>());
  });
}

}  // namespace diagsparse
