// C = alpha (op(Ab) + op(As)) (op(Bb) + op(Bs)) + beta C of quasi-bands: "terms", the default.
//
// The product of the bands is a product of diagonals, with the kernel that its plan selected. The rest is a list of
// sums, each with a position in C (rest_of_product.cu): outside of the bands they are written, on a band they are
// added. The plan lists the terms, 8 bytes per term and 12 per sum, and rows/pairs.cuh adds them. So no searches are
// needed, and each element is written once, or twice if the rest has terms on the bands. Every run gives the same bits.
#include "formats/qband/kernels.hpp"
#include "formats/qband/products.cuh"
#include "kernels/rows/pairs.cuh"

namespace diagsparse::cuda::qband {

namespace {

// Writes a sum of the rest to its position.
template <class T>
struct ToPosition {
  T* c;
  const int64* targets;
  int64 rest_first;
  Update<T> outside, onto;

  __device__ void operator()(int64 s, T sum) const {
    const int64 position = targets[s];
    (position < rest_first ? onto : outside).one(c + position, sum);
  }
};

template <class U, class V>
struct AddRest {
  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const RestOnGpu& rest = rest_on_gpu(plan);
    rest.used_here(plan);
    const rows::PairValues<U, V> values{left.values.as<const U>(), right.values.as<const V>(), plan.op_a.conjugated,
                                        plan.op_b.conjugated};
    const ToPosition<T> put{c.values.as<T>(), rest.targets.as<const int64>(), QuasiBand(*plan.c, {}).rest_first,
                            Update<T>(alpha, beta), Update<T>(alpha, 1.0)};
    rows::add_listed("qband matmul", values, rest.first, rest.pairs, rest.count, rest.many, put);
  }
};

}  // namespace

MatmulRow terms() {
  return {"terms",
          every_pair<MultiplyBands, MatmulKernel>(),
          nullptr,
          {{"the rest", every_pair<AddRest, MatmulKernel>()}},
          "bands x bands"};
}

}  // namespace diagsparse::cuda::qband
