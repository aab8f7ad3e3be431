// Products of dia, hm and cdm matrices of quaternions with vectors: y = op(Q) x or x op(Q), for Q = A + B j.
//
//   A, B: m x n, D diagonals.  x: n x 4 p.  y: m x 4 p.  Bytes at least: A + B + x + y.
//
// A thread processes a row. It loops over the diagonals that have an element in this row, and has the components of y
// in registers. Neighbouring threads read neighbouring values of A and B, which bypass the caches, and neighbouring
// quaternions of x, which other rows have already loaded. If x is a block, A and B are read once for four of its
// vectors. The order of a sum depends only on the matrix, so every run gives the same bits.
#include "kernels/matvec/quaternions.cuh"
#include "kernels/matvec/terms.cuh"

namespace diagsparse::cuda::matvec {

namespace {

// Columns: quaternions of a row of x and y. interior: rows with the same diagonals, in which no thread checks a range.
template <int Columns, class U, class R>
__global__ void __launch_bounds__(kBlock)
    quaternion_rows(const Term* terms, int count, const __grid_constant__ Interior interior, const Complex<U>* a,
                    const Complex<U>* b, const __grid_constant__ QuaternionVectors<R> vectors, int64 rows) {
  using A = Complex<U>;
  const int64 start = static_cast<int64>(blockIdx.x) * kBlock, i = start + threadIdx.x, width = vectors.width;
  if (i >= rows) return;
  const bool inside = start >= interior.first && start + kBlock <= interior.last;
  const int begin = inside ? interior.term : 0, end = inside ? interior.term_end : count;
  for (int64 c = 4 * Columns * blockIdx.y; c < width; c += 4 * Columns * gridDim.y) {
    QuaternionSums<Columns, R> sums(vectors, c);
    for (int t = begin; t < end; t += sums.together) {
      sums.template add<A>([&](int k, const A*& from_a, const A*& from_b, const R*& x) {
        const Term* const term = terms + (t + k);
        if (t + k >= end || !(inside || (i >= __ldg(&term->first) && i < __ldg(&term->last)))) return false;
        const int64 at = __ldg(&term->u) + i;
        from_a = a + at;
        from_b = b + at;
        x = vectors.x + (__ldg(&term->v) + i) * width + c;
        return true;
      });
    }
    sums.store(vectors.y + i * width + c);
  }
}

template <class A, class R>
struct QuaternionDiagonals {
  static void run(const Matrix& a, const Matrix& b, bool transposed, const QuaternionSigns& signs, const Dense& x,
                  const Dense& y) {
    const auto terms = resident_terms(a, {transposed, false});
    with_columns<R>(x, y, signs, ceil_div(y.rows, kBlock), [&](const auto& vectors, auto columns, dim3 grid) {
      launch("quaternion diagonals", quaternion_rows<decltype(columns)::value, Real<A>, R>, grid, dim3(kBlock),
             terms->terms_begin(), terms->count, terms->interior, a.values.as<A>(), b.values.as<A>(), vectors, y.rows);
    });
  }
};

Typed<QuaternionKernel> quaternions_of_diagonals() { return quaternion_kernels<QuaternionDiagonals>(); }
const RegisterQuaternions dia("dia", 0, quaternions_of_diagonals), hm("hm", 0, quaternions_of_diagonals),
    cdm("cdm", 0, quaternions_of_diagonals);

}  // namespace

}  // namespace diagsparse::cuda::matvec
