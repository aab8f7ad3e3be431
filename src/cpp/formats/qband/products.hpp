// Products of quasi-band matrices: C = (Ab + As)(Bb + Bs), where each operand is the sum of bands and a rest.
//
// Ab Bb is planned as a product of diagonals. Its diagonals are the bands of C. The sum of the other three products,
// As Bb + Ab Bs + As Bs, is called "the rest", and its structure is computed once. Entries of the rest on the bands of
// C are added to the bands. All others form the rest of C. C is therefore written once, and has its exact size:
//
//     values of C   | bands: Ab Bb, plus the rest there | entries of the rest outside of the bands |
#pragma once

#include "core/plan.hpp"

namespace diagsparse {

// op(A) as an operand. Its values are those of the bands, followed by those of the rest from `rest_first` on.
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

// The part of a product that each backend computes for its kernels: the coosr structure of the entries of the rest
// outside of the diagonals of `bands`, and the data needed to compute it. Values of C have `item` bytes.
struct RestOfProduct {
  StructurePtr structure;
  std::shared_ptr<const Work> work;
};
RestOfProduct rest_of_product(const QuasiBand& a, const QuasiBand& b, const Layout& bands, int64 item);

struct QuasiBandWork : Work {
  Plan bands;                        // of Ab Bb
  std::shared_ptr<const Work> rest;  // implemented by each backend

  int64 nbytes() const override { return bands.workspace_nbytes() + rest->nbytes(); }
  int64 operations() const override { return bands.work->operations() + rest->operations(); }
};
inline const QuasiBandWork& quasi_band_work(const Plan& plan) { return static_cast<const QuasiBandWork&>(*plan.work); }

void plan_quasi_bands(Plan& plan, const Matrix& a, const Matrix& b, const Request& request);

// For kernels: the bands of a matrix, over their part of its values.
Matrix bands_of(const Matrix& m);
// Computes the bands of C = alpha Ab Bb + beta C, the first stage of each kernel.
void multiply_bands(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c);
template <class U, class V>
struct MultiplyBands {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    multiply_bands(plan, a, b, alpha, beta, c);
  }
};

}  // namespace diagsparse
