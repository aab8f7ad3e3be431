// Sums of hollow diagonals on the GPU.
#include "core/hollow_sums.hpp"
#include "kernels/mdia/hollow.cuh"

namespace diagsparse {

namespace cuda::hollow {

namespace {

// A thread takes a block of rows of a diagonal of C.
__global__ void __launch_bounds__(kBlock)
    find_sum_masks(const HollowOperand<char> a, const HollowOperand<char> b, const HollowTerms* terms, int64 blocks,
                   int64 diagonals, Mask* mask) {
  const int64 at = thread_index();
  if (at >= blocks * diagonals) return;
  const HollowTerms t = terms[at % diagonals];
  const int64 row = kMaskRows * (at / diagonals);
  mask[at] = (t.a.number < 0 ? 0 : a.mask(t.a, row)) | (t.b.number < 0 ? 0 : b.mask(t.b, row));
}

// A warp takes a block of rows of C, a lane a row.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_rows(const HollowOperand<T> a, const Factor<T> alpha, const HollowOperand<T> b, const Factor<T> beta,
             const HollowTerms* terms, const Mdia<T> c, T* out) {
  const int64 block = thread_index() / 32, row = kMaskRows * block + threadIdx.x % 32;
  if (block >= c.blocks()) return;
  const int lane = threadIdx.x % 32;
  out += c.begin[block];
#pragma unroll 4
  for (int64 d = 0; d < c.diagonals; ++d) {
    const Mask rows = c.mask[block * c.diagonals + d];
    if (rows >> lane & 1) {
      const HollowTerms t = terms[d];
      const int64 in_a = t.a.number < 0 ? -1 : a.place(t.a, row), in_b = t.b.number < 0 ? -1 : b.place(t.b, row);
      T sum{};
      if (in_a >= 0) sum = alpha * a.value(t.a, in_a);
      if (in_b >= 0) {
        const T term = beta * b.value(t.b, in_b);
        sum = in_a >= 0 ? sum + term : term;
      }
      out[__popc(rows & below(lane))] = sum;
    }
    out += __popc(rows);
  }
}

}  // namespace

}  // namespace cuda::hollow

using namespace cuda;
using namespace cuda::hollow;

Array masks_of_sum(const Structure& a, const Structure& b, const std::vector<HollowTerms>& terms, int64 rows) {
  const int64 blocks = masks_along(rows), diagonals = static_cast<int64>(terms.size());
  Array mask = Array::empty(DType::u32, {blocks, diagonals});
  const Array resident = upload(terms);
  launch("find sum masks", find_sum_masks, cuda::blocks(blocks * diagonals), dim3(kBlock),
         HollowOperand<char>{Mdia<char>::over(a, nullptr), nullptr},
         HollowOperand<char>{Mdia<char>::over(b, nullptr), nullptr}, resident.as<const HollowTerms>(), blocks,
         diagonals, mask.as<Mask>());
  return mask;
}

void add_values(const EntryTerm& a, const EntryTerm& b, const std::vector<HollowTerms>& terms, const Matrix& c) {
  const Array resident = upload(terms);
  with_value_type(c.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("add rows", add_rows<T>, cuda::blocks(32 * masks_along(c.rows)), dim3(kBlock), operand<T>(*a.matrix),
           Factor<T>(a.factor), operand<T>(*b.matrix), Factor<T>(b.factor), resident.as<const HollowTerms>(),
           Mdia<T>::of(c), c.values.as<T>());
  });
}

}  // namespace diagsparse
