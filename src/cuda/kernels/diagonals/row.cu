// Kernel "row" of dia, hm and cdm, the default of all three: y = alpha op(A) x + beta y.
//
//   op(A): m x n, D diagonals, each a term of the list (core/diagonals.hpp): its value of row i is values[u + i] and
//   multiplies x[v + i], for first <= i < last.  x: n, or n x k.  y: m, or m x k.  Bytes at least: A + x + y.
//
// For large matrices times blocks of columns, or times vectors whose values are wider than the stored ones, the
// diagonals and X are staged in shared memory: window/kernel.cuh, for contiguous X. Large blocks in F order:
// matvec/tiles.cuh, or copies in C order. Other blocks of columns: matvec/blocks.cuh. Layouts with a period:
// period/matvec.cu. All other vectors: matvec/vectors.cuh, as follows.
//
// A thread processes a few rows, 32 apart. It loops over the diagonals that have elements in these rows, several at a
// time, and accumulates the sums in registers. A's values are read once, bypassing the caches, by complete warps at
// neighbouring addresses, wherever a diagonal starts; x is read through the caches, where neighbouring rows have
// already loaded it. A block holds the list of diagonals in shared memory. Blocks for which all diagonals are complete
// (nearly all blocks) skip the range checks. For small matrices, the warps of a block process the same rows, and each
// handles part of the diagonals. The order of a sum depends only on the matrix, so every run gives the same bits.
#include "device/c_order.hpp"
#include "device/dense.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/diagonals/kernels.hpp"
#include "kernels/matvec/blocks.cuh"
#include "kernels/matvec/tiles.cuh"
#include "kernels/matvec/vectors.cuh"
#include "kernels/period/matvec.hpp"
#include "kernels/window/kernel.cuh"

namespace diagsparse::cuda::matvec {

namespace {

template <class U, class V>
struct RowMatvec {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (a.layout().packing.period > 0) return period::matvec(a, op, alpha, x, beta, y);
    const auto resident_data = resident_terms(a, op);
    const Update<Product<U, V>> update(alpha, beta);
    if constexpr (std::is_same_v<U, V>) {
      if (multiply_in_tiles<V>(a, op, *resident_data, x, y, update)) return;
    }
    if (multiply_in_c_order(run, a, op, alpha, x, beta, y)) return;
    const bool mirrored = a.layout().packing.symmetry != Symmetry::none;
    const U* values = a.values.as<U>();
    if (x.cols == 1 && x.row_stride == 1 && y.row_stride == 1) {
      if constexpr (sizeof(U) < sizeof(V)) {
        if (!mirrored && window::multiply_windows<window::OfVectors<V>, U, V>(a, op, *resident_data, x, y, update))
          return;
      }
      multiply_vector<U, V>(*resident_data, values, op.conjugated, mirrored, x, y, NoRest(), update);
    } else if (in_packets<V>(x, y)) {
      if (window::multiply_windows<window::OfBlocks<V>, U, V>(a, op, *resident_data, x, y, update)) return;
      multiply_packets<U, V>(*resident_data, values, op.conjugated, x, y, NoRest(), update);
    } else {
      multiply_block<U, V>(*resident_data, Neighbouring(), values, op.conjugated, x, y, NoRest(), update);
    }
  }
};

}  // namespace

MatvecRow row() {
  return {"row", every_stored_pair<RowMatvec, MatvecKernel>(), [](const Matrix& a, Op op) { resident_terms(a, op); }};
}

}  // namespace diagsparse::cuda::matvec
