// Polynomials in a matrix, one step at a time.
#include "core/recurrence.hpp"

#include "core/matvec.hpp"

namespace diagsparse {

namespace {

// A block of the shape of `like` in the memory of `spare`, with contiguous columns.
Dense over(Array& spare, const Dense& like) {
  if (spare.data == nullptr) spare = Array::empty(like.dtype, {like.rows * like.cols});
  return {spare.data, like.dtype, like.rows, like.cols, 1, like.rows};
}

template <class U, class V>
struct Steps {
  static void run(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y) {
    run_steps(a, op, r, x, y);
  }
};

}  // namespace

void Neighbours::compute_reach() {
  below = above = 0;
  for (const Term& t : terms) {
    below = std::max(below, -t.v);
    above = std::max(above, t.v);
  }
}

Neighbours::Neighbours(const RowSums& sums, int64 n, bool may_wrap) : terms(sums.terms) {
  compute_reach();
  if (!may_wrap) return;
  const int64 straight = both();
  for (Term& t : terms) {
    if (t.v > n / 2) t.v -= n;
    else if (t.v < -(n / 2)) t.v += n;
  }
  compute_reach();
  around = 2 * both() < straight;  // wrapping diagonals all over the matrix about halves it, which gains nothing
  if (around) return;
  terms = sums.terms;
  compute_reach();
}

ChainRow chain_steps() { return {"steps", every_stored_pair<Steps, ChainKernel>()}; }

void product_step(const Matrix& a, Op op, const Step& step, const Dense& v, const Dense& next, const Dense& y) {
  if (finite(step.alpha, next.dtype)) {
    const MatvecKernel multiply = matvec_kernel(find_matvec(a.format, ""), a.dtype, v.dtype);
    multiply(a, op, step.alpha, v, step.gamma, next);
  } else {
    matvec(a, op, step.alpha, v, step.gamma, next, "");
  }
  if (step.beta != 0.0 || step.c != 0.0) finish_step(step.beta, v, next, step.c, y);
}

void run_steps(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y, StepKernel run) {
  Array spares[2];
  Dense v = x, before = x;
  axpby(r.c[0], x, 0.0, y);
  for (int64 j = 0; j < r.steps(); ++j) {
    if (j % kStepsPerCheckpoint == kStepsPerCheckpoint - 1) checkpoint();
    // v_{j+1} overwrites v_{j-1}, unless that is still x.
    const Dense next = over(spares[j % 2], x);
    if (j == 1 && r.back(j) != 0.0) axpby(1.0, before, 0.0, next);
    run(a, op, {r.alpha[j], r.beta[j], r.back(j), r.c[j + 1]}, v, next, y);
    before = v;
    v = next;
  }
}

}  // namespace diagsparse
