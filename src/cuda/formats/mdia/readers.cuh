// How kernels read masked diagonals in which each element has a value of its own: what the lanes of a warp list of a
// diagonal. These are the rows in which it has elements, the positions of these, and the distance to the elements of x
// in bytes, laid out so that a lane needs only one or two loads.
#pragma once

#include "formats/mdia/masks.cuh"

namespace diagsparse::cuda::mdia {

namespace {

// For A in the order in which it is stored.
template <class U>
class InOrder {
 public:
  static constexpr bool in_order = true, has_codes = false;
  struct alignas(16) Listed {
    Mask rows;
    std::uint32_t begin;  // among the values of these 32 diagonals
    std::uint32_t halves[2];

    __device__ int64 across() const { return static_cast<int64>(std::uint64_t{halves[1]} << 32 | halves[0]); }
    __device__ const U* position(const InOrder& here, Mask lower) const {
      return here.values_ + begin + __popc(rows & lower);
    }
    __device__ auto value(const InOrder& here, Mask lower) const {
      return conjugate_if(here.a_.conj, arithmetic(load_once(position(here, lower))));
    }
  };
  struct Matrix {
    Mdia<U> a;
    bool conj;
    __device__ int64 diagonals() const { return a.diagonals; }
    __device__ int64 rows() const { return a.rows; }
  };

  __device__ InOrder(const Matrix& a, int64 block) : a_(a), block_(block), next_(a.a.values + a.a.begin[block]) {}

  // What lane `lane` lists for diagonals `base` to `base` + 31; all lanes of the warp call it.
  __device__ Listed examine(int64 base, int lane, int64 row_bytes) {
    const int64 d = base + lane;
    const Mask mine = d < a_.a.diagonals ? a_.a.mask[block_ * a_.a.diagonals + d] : 0;
    std::uint32_t end = __popc(mine);  // including those of the previous lanes
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0u, end, step);
      if (lane >= step) end += other;
    }
    values_ = next_;
    next_ += __shfl_sync(~0u, end, 31);
    const int64 across = mine != 0 ? a_.a.offsets[d] * row_bytes : 0;
    return {mine,
            end - __popc(mine),
            {static_cast<std::uint32_t>(across), static_cast<std::uint32_t>(static_cast<std::uint64_t>(across) >> 32)}};
  }

 private:
  const Matrix& a_;
  int64 block_;
  const U *values_ = nullptr, *next_;
};

// For transposed diagonals.
template <class U>
class Transposed {
 public:
  static constexpr bool in_order = false, has_codes = false;
  struct alignas(16) Listed {
    const U* values;
    std::int64_t step;
    Mask rows;
    std::uint32_t split, jump;

    __device__ int64 across() const { return step; }
    __device__ Window<U> window() const { return {values, rows, split, jump}; }
    __device__ const U* position(const Transposed&, Mask lower) const { return window().position(lower); }
    __device__ auto value(const Transposed& here, Mask lower) const {
      return window().arithmetic_value(load(position(here, lower)));
    }
  };
  using Matrix = OperandByDiagonals<U>;

  __device__ Transposed(const Matrix& a, int64 block) : a_(a), block_(block) {}

  __device__ Listed examine(int64 base, int lane, int64 row_bytes) {
    if (base + lane >= a_.count) return {};
    const MaskedDiagonal d = a_.diagonal[base + lane];
    const Reach to = reach(d, a_.a.a.diagonals);
    const LoadedMasks loaded(a_.a.a, to, block_, block_ * a_.a.a.diagonals);
    if (loaded.rows == 0) return {};
    const Window<U> here = mdia::window(a_.a, loaded, to);
    return {here.values, d.offset * row_bytes, here.rows, here.split, here.jump};
  }

 private:
  const Matrix& a_;
  int64 block_;
};

// Lets a warp list which of the diagonals `base` to `base` + 31 have elements in its block; returns how many have.
template <class Reader, class Listed>
__device__ int list_diagonals(Reader& here, int64 base, int lane, int64 row_bytes, Listed* list) {
  const Listed mine = here.examine(base, lane, row_bytes);
  const unsigned some = __ballot_sync(~0u, mine.rows != 0);
  const int count = __popc(some);
  if (mine.rows != 0) list[__popc(some & below(lane))] = mine;
  if (lane >= count) list[lane].rows = 0;
  __syncwarp();
  return count;
}

}  // namespace

}  // namespace diagsparse::cuda::mdia
