// Chains of products: a three-term recurrence in a square matrix, and a linear combination of its vectors.
//
//     v_0 = x,   v_{j+1} = alpha_j op(A) v_j + beta_j v_j + gamma_j v_{j-1},   y = sum of c_j v_j,   j = 0 .. k
//
// A^k x, Chebyshev series and other series of orthogonal polynomials are special cases. Vectors with a factor of zero
// are not read, so that no zero is multiplied by an infinity. One pass over A may take several steps. The vectors that
// a pass reads and writes are the same on every device and are determined here.
#pragma once

#include <algorithm>
#include <vector>

#include "core/interrupt.hpp"
#include "core/kernel_table.hpp"
#include "core/matrix.hpp"
#include "core/sums.hpp"

namespace diagsparse {

struct Recurrence {
  std::vector<Scalar> alpha, beta, gamma;  // k elements each; gamma[0] is not used
  std::vector<Scalar> c;                   // k + 1 elements

  int64 steps() const { return static_cast<int64>(alpha.size()); }
  Scalar back(int64 j) const { return j == 0 ? 0.0 : gamma[j]; }
};

// Which elements of v the rows of op(A) are multiplied by: row i of a term uses v[i + t.v], and no row reads beyond the
// range from v[i - below] to v[i + above]. If it shortens this range, indices wrap around: diagonals in the far corners
// (of periodic boundaries; cdm stores some of them with every band) become neighbours of the main diagonal, and i + t.v
// is taken modulo n.
struct Neighbours {
  std::vector<Term> terms;
  int64 below = 0, above = 0;
  bool around = false;

  Neighbours(const RowSums& sums, int64 n, bool may_wrap);  // of row_sums
  int64 both() const { return below + above; }

 private:
  void compute_reach();
};

constexpr int64 kStepsPerCheckpoint =
    64;  // steps between two checks for interrupts, since steps of small matrices are short

// Steps first .. first + steps - 1, in one pass over A.
template <class T>
struct Pass {
  int64 first, steps;
  const T *v, *before;    // v_first and v_{first-1}; `before` is null if no step reads it
  T *v_out, *before_out;  // for v_{first+steps} and the vector before it; null if not needed
  T* y;                   // null if all coefficients of these steps are zero
  bool fresh;             // y has not been written yet
  Scalar start;           // c_0 in the first pass, where y starts as c_0 v_0
};

// y = alpha x + beta y for vectors and blocks of the same type. x is not read if alpha = 0, nor y if beta = 0.
// Implemented by each backend.
void axpby(Scalar alpha, const Dense& x, Scalar beta, const Dense& y);

// What remains of a step after the product: next += beta v, and then y += c next, in one pass. All are blocks of the
// same type, with contiguous columns. v is not read if beta = 0, and y is neither read nor written if c = 0.
// Implemented by each backend.
void finish_step(Scalar beta, const Dense& v, const Dense& next, Scalar c, const Dense& y);

// The same for one element of each.
template <class T>
struct RestOfStep {
  Factor<T> beta, c;
  bool shifts, sums;

  RestOfStep(Scalar b, Scalar coefficient) : beta(b), c(coefficient), shifts(b != 0.0), sums(coefficient != 0.0) {}

  constexpr void one(const T* v, T* next, T* y) const {
    T u = *next;
    if (shifts) *next = u = beta * *v + u;
    if (sums) *y = c * u + *y;
  }
};

// One step: next = alpha op(A) v + gamma next + beta v, and then y += c next.
struct Step {
  Scalar alpha, beta, gamma, c;
};
using StepKernel = void (*)(const Matrix& a, Op op, const Step& step, const Dense& v, const Dense& next,
                            const Dense& y);

// The default matvec kernel, and then a pass that adds the remaining terms.
void product_step(const Matrix& a, Op op, const Step& step, const Dense& v, const Dense& next, const Dense& y);

// Kernel "steps" of every format, and those that differ from it in how they compute a step. Vectors are blocks with
// contiguous columns.
void run_steps(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y,
               StepKernel run = product_step);

// Vectors of the same length as x, allocated at first use.
template <class T>
class SpareVectors {
 public:
  explicit SpareVectors(int64 n) : n_(n) {}

  // One that differs from these three.
  T* other_than(const T* a, const T* b, const T* c) {
    for (Array& spare : spares_) {
      if (spare.data == nullptr) spare = Array::empty(dtype_of<T>(), {n_});
      T* vector = spare.template as<T>();
      if (vector != a && vector != b && vector != c) return vector;
    }
    return nullptr;  // unreachable: there are four vectors
  }

 private:
  int64 n_;
  Array spares_[4];
};

// Runs the recurrence (k > 0, n > 0) for each column of x by calls run(pass), with at most `most` steps in a pass.
template <class T, class F>
void in_passes(const Recurrence& r, int64 most, const Dense& x, const Dense& y, const F& run) {
  const int64 k = r.steps(), passes = (k + most - 1) / most;
  for (int64 column = 0; column < x.cols; ++column) {
    SpareVectors<T> spare(x.rows);
    const T *v = x.as<T>() + column * x.col_stride, *before = nullptr;
    bool fresh = true;
    for (int64 number = 0; number < passes; ++number) {
      const int64 first = k * number / passes, end = k * (number + 1) / passes, steps = end - first;
      const bool last = number + 1 == passes;
      const auto counts = [](Scalar c) { return c != 0.0; };
      const bool sums =
          std::any_of(r.c.begin() + (number == 0 ? 0 : first + 1), r.c.begin() + end + 1, counts) || (last && fresh);
      Pass<T> pass{first,
                   steps,
                   v,
                   nullptr,
                   nullptr,
                   nullptr,
                   sums ? y.as<T>() + column * y.col_stride : nullptr,
                   fresh,
                   first == 0 ? r.c[0] : 0.0};
      if (r.back(first) != 0.0) pass.before = before;
      if (!last) pass.v_out = spare.other_than(v, before, nullptr);
      // A single step leaves v unchanged.
      if (!last && r.back(end) != 0.0 && steps > 1) pass.before_out = spare.other_than(v, before, pass.v_out);
      run(pass);
      before = steps > 1 ? pass.before_out : v;
      v = pass.v_out;
      fresh = fresh && !sums;
    }
  }
}

}  // namespace diagsparse
