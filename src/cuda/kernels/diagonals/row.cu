// Kernel "row" of dia, hm and cdm, the default of all three: y = alpha op(A) x + beta y.
//
//   op(A): m x n, D diagonals, each a term of the list (core/diagonals.hpp): row i has its value at values[u + i] and
//   meets x[v + i], for first <= i < last.  x: n, or n x k.  y: m, or m x k.  Bytes at least: A + x + y.
//
// Large matrices times blocks of columns, and times vectors whose values are wider than the stored ones, bring their
// diagonals and X through shared memory: window/kernel.cuh, for contiguous X. Other blocks of columns: blocks.cuh.
// Layouts with a period: period/matvec.cu. All other vectors are multiplied here.
//
// A thread takes a few rows, 32 apart; it walks the diagonals that meet them, several at a time, and keeps its sums in
// registers. A's values are read once, past the caches, by whole warps at neighbouring addresses, wherever a diagonal
// starts; x comes from the caches, where the rows nearby have brought it. A block has the list of diagonals in shared
// memory; the blocks between the ends of the diagonals, nearly all, test nothing. Of small matrices the warps of a
// block share the rows, each a part of the diagonals. A sum adds up in an order that the matrix alone decides: the same
// bits on every run.
#include "device/dense.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/diagonals/kernels.hpp"
#include "kernels/matvec/blocks.cuh"
#include "kernels/matvec/vectors.cuh"
#include "kernels/period/matvec.hpp"
#include "kernels/window/kernel.cuh"

namespace diagsparse::cuda::matvec {

namespace {

template <class U, class V>
struct RowMatvec {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (a.layout().packing.period > 0) return period::matvec(dtype_of<U>(), dtype_of<V>())(a, op, alpha, x, beta, y);
    const auto kept = resident_terms(a, op);
    const bool mirrored = a.layout().packing.symmetry != Symmetry::none;
    const Update<Product<U, V>> update(alpha, beta);
    const U* values = a.values.as<U>();
    if (x.cols == 1 && x.row_stride == 1 && y.row_stride == 1) {
      if constexpr (sizeof(U) < sizeof(V)) {
        if (!mirrored && window::multiply_windows<window::OfVectors<V>, U, V>(a, op, *kept, x, y, update)) return;
      }
      multiply_vector<U, V>(*kept, values, op.conjugated, mirrored, x, y, NoRest(), update);
    } else if (in_pieces<V>(x, y)) {
      if (window::multiply_windows<window::OfBlocks<V>, U, V>(a, op, *kept, x, y, update)) return;
      multiply_pieces<U, V>(*kept, values, op.conjugated, x, y, NoRest(), update);
    } else {
      multiply_block<U, V>(*kept, Neighbouring(), values, op.conjugated, x, y, NoRest(), update);
    }
  }
};

}  // namespace

MatvecRow row() {
  return {"row", every_stored_pair<RowMatvec, MatvecKernel>(), [](const Matrix& a, Op op) { resident_terms(a, op); }};
}

}  // namespace diagsparse::cuda::matvec
