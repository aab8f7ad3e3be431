// Hollow diagonals as GPU kernels read them: a lane looks for the element of its own row.
#pragma once

#include "core/hollow_products.hpp"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "formats/mdia.hpp"

namespace diagsparse::cuda::hollow {

// Bits below the one of a lane.
inline __device__ Mask below(int bit) { return (Mask{1} << bit) - 1; }

// op(A), by its diagonals as they are read.
template <class T>
struct HollowOperand {
  Mdia<T> a;
  const std::uint32_t* places;  // null: masks alone are read

  // The row of A in which the diagonal has the element of row `row` of op(A).
  __device__ static int64 stored_row(const HollowDiagonal& d, int64 row) { return d.turned ? row + d.offset : row; }

  // Which of 32 rows from `row` on have an element; the lowest bit is `row`.
  __device__ Mask mask(const HollowDiagonal& d, int64 row) const {
    const int64 first = stored_row(d, row), block = first >> kMaskShift;
    return __funnelshift_r(a.mask_at(block, d.number), a.mask_at(block + 1, d.number), static_cast<unsigned>(first));
  }

  // The place of this row's element among the values, negative where there is none.
  __device__ int64 place(const HollowDiagonal& d, int64 row) const {
    const int64 stored = stored_row(d, row), block = stored >> kMaskShift;
    const int bit = static_cast<int>(stored & (kMaskRows - 1));
    const Mask rows = a.mask_at(block, d.number);
    if ((rows >> bit & 1) == 0) return -1;
    return a.begin[block] + places[block * a.diagonals + d.number] + __popc(rows & below(bit));
  }

  __device__ T value(const HollowDiagonal& d, int64 place) const { return conjugate_if(d.conjugated, a.values[place]); }
};

// The diagonals of op(A) on the device, kept with A.
struct ResidentDiagonals {
  Array list;
  int count;

  const HollowDiagonal* begin() const { return list.as<const HollowDiagonal>(); }
  template <class F>
  void visit(const F& f) const {
    f(list);
  }
};
inline std::shared_ptr<ResidentDiagonals> resident_diagonals(const Structure& structure, Op op) {
  const char* const keys[] = {"diagonals N", "diagonals T", "diagonals C", "diagonals H"};
  return keep<ResidentDiagonals>(structure.kept(), keys[op.transposed + 2 * op.conjugated], [&] {
    const std::vector<HollowDiagonal> all = hollow_diagonals(structure, op);
    return std::make_shared<ResidentDiagonals>(ResidentDiagonals{upload(all), static_cast<int>(all.size())});
  });
}

template <class T>
HollowOperand<T> operand(const Matrix& m) {
  return {Mdia<T>::of(m), hollow_places(*m.structure)->from_block.template as<const std::uint32_t>()};
}

MatvecRow by_blocks();
MatmulRow products_by_blocks();

}  // namespace diagsparse::cuda::hollow
