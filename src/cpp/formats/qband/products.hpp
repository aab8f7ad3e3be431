// Products of quasi-band matrices: C = (Ab + As)(Bb + Bs), bands and the rest beside them.
//
// Ab Bb is a product of diagonals, planned as such. Its diagonals are the bands of C. The other three products,
// As Bb + Ab Bs + As Bs, are "the rest": where they have entries is found once. Those that lie on the bands of C add to
// them, all others are the rest of C, so that C is written once, and as long as it has to be:
//
//     C's values    | bands: Ab Bb, and what the rest adds there | what the rest has beside them |
#pragma once

#include "core/plan.hpp"

namespace diagsparse {

// op(A) as an operand. Its values: those of the bands, and from `rest_first` on those of the rest.
struct QuasiBand {
  const Layout& bands;
  const Indices& rest;  // coosr of A, not of op(A)
  Op op;
  int64 rest_first;

  QuasiBand(const Structure& structure, Op op);
  int64 rows() const { return op.transposed ? rest.cols : rest.rows; }
  int64 cols() const { return op.transposed ? rest.rows : rest.cols; }
  int64 entries() const { return rest.stored(); }  // of the rest
};

// What each device finds out for its kernels: the coosr structure of what the rest of the product has beside the
// diagonals of `bands`, and what adds it up. Values of C take `item` bytes.
struct RestOfProduct {
  StructurePtr structure;
  std::shared_ptr<const Work> work;
};
RestOfProduct rest_of_product(const QuasiBand& a, const QuasiBand& b, const Layout& bands, int64 item);

struct QuasiBandWork : Work {
  Plan bands;                        // of Ab Bb
  std::shared_ptr<const Work> rest;  // the device's own

  int64 nbytes() const override { return bands.workspace_nbytes() + rest->nbytes(); }
  int64 operations() const override { return bands.work->operations() + rest->operations(); }
};
inline const QuasiBandWork& quasi_band_work(const Plan& plan) { return static_cast<const QuasiBandWork&>(*plan.work); }

Plan plan_quasi_bands(const Format& format, const Matrix& a, Op op_a, const Matrix& b, Op op_b, const Request& request);

// For kernels. The bands of a matrix, over their part of its values.
Matrix bands_of(const Matrix& m);
// C's bands = alpha Ab Bb + beta C's bands: the first stage of each.
void multiply_bands(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c);
template <class U, class V>
struct MultiplyBands {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    multiply_bands(plan, a, b, alpha, beta, c);
  }
};

}  // namespace diagsparse
