// Chains of products: a three-term recurrence in a square matrix, and a sum of its vectors.
//
//     v_0 = x,   v_{j+1} = alpha_j op(A) v_j + beta_j v_j + gamma_j v_{j-1},   y = sum of c_j v_j,   j = 0 .. k
//
// A^k x, Chebyshev series and all other families of orthogonal polynomials are cases of it. Vectors that a factor of
// zero leaves out are not read: there is no zero times infinity. A pass over A may take several steps at once; which
// vectors it needs and which it leaves behind is the same on every device, and is worked out here.
#pragma once

#include <algorithm>
#include <vector>

#include "core/interrupt.hpp"
#include "core/kernel_table.hpp"
#include "core/matrix.hpp"
#include "core/sums.hpp"

namespace diagsparse {

struct Recurrence {
  std::vector<Scalar> alpha, beta, gamma;  // k each; gamma[0] has no vector to scale
  std::vector<Scalar> c;                   // k + 1

  int64 steps() const { return static_cast<int64>(alpha.size()); }
  Scalar back(int64 j) const { return j == 0 ? 0.0 : gamma[j]; }
};

// Where the rows of op(A) find what they multiply: row i of a term meets v[i + t.v], and no row reads further than from
// v[i - below] to v[i + above]. Where that brings rows and columns together, indices go around: diagonals in the far
// corners (of periodic boundaries; cdm stores some with every band) are neighbours of the main one, and i + t.v counts
// modulo n.
struct Neighbours {
  std::vector<Term> terms;
  int64 below = 0, above = 0;
  bool around = false;

  Neighbours(const RowSums& sums, int64 n, bool may_go_around);  // of row_sums
  int64 both() const { return below + above; }

 private:
  void find_reach();
};

constexpr int64 kStepsPerCheckpoint =
    64;  // steps between two questions whether to go on: those of small matrices are short

// Steps first .. first + steps - 1 in one pass over A.
template <class T>
struct Pass {
  int64 first, steps;
  const T *v, *before;    // v_first, v_{first-1}: the second is null where no step reads it
  T *v_out, *before_out;  // take v_{first+steps} and the one before it; null where nobody will read them
  T* y;                   // null where no coefficient of these steps counts
  bool fresh;             // y holds nothing yet
  Scalar start;           // c_0 in the first pass: y begins with c_0 v_0
};

// y = alpha x + beta y for vectors and blocks of one type; x is not read for alpha = 0, nor y for beta = 0. Each
// device's own.
void axpby(Scalar alpha, const Dense& x, Scalar beta, const Dense& y);

// Kernel "steps" of every format: the default kernel of its matvec, once for each step. What is left of a step is added
// by axpby. Vectors are blocks whose columns are contiguous.
void run_steps(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y);

// Vectors of the length of x, made when they are first needed.
template <class T>
class SpareVectors {
 public:
  explicit SpareVectors(int64 n) : n_(n) {}

  // One that is none of these.
  T* besides(const T* a, const T* b, const T* c) {
    for (Array& spare : spares_) {
      if (spare.data == nullptr) spare = Array::empty(dtype_of<T>(), {n_});
      T* vector = spare.template as<T>();
      if (vector != a && vector != b && vector != c) return vector;
    }
    return nullptr;  // never: there are more than three
  }

 private:
  int64 n_;
  Array spares_[4];
};

// Runs the recurrence (k > 0, n > 0) for each column of x, in passes of at most `most` steps: run(pass).
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
      if (!last) pass.v_out = spare.besides(v, before, nullptr);
      // One step alone leaves v behind as it is.
      if (!last && r.back(end) != 0.0 && steps > 1) pass.before_out = spare.besides(v, before, pass.v_out);
      run(pass);
      before = steps > 1 ? pass.before_out : v;
      v = pass.v_out;
      fresh = fresh && !sums;
    }
  }
}

}  // namespace diagsparse
