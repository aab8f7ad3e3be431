// Multigrid on a GPU: the next level of a hierarchy, the parts of a cycle, and conjugate gradients. The functions and
// arrays are those of cpu/multigrid.hpp; the pointers are on the device.
#pragma once

#include "core/array.hpp"
#include "core/grid.hpp"

namespace diagsparse::cuda::multigrid {

using diagsparse::multigrid::Definite, diagsparse::multigrid::Grid, diagsparse::multigrid::Placed,
    diagsparse::multigrid::Smoother, diagsparse::multigrid::Statistics, diagsparse::multigrid::Step,
    diagsparse::multigrid::Steps;

// ---- set-up ---------------------------------------------------------------------------------------
// The diagonals of a matrix in the order of the steps of a grid, by elements: that of a row is at[s][row].
struct StepDiagonals {
  DType dtype = DType::f64;
  int64 offsets[27];
  const void* at[27];
};
struct Gathered {
  bool fits;  // whether all elements that are not zero couple neighbours
  Definite definite;
  Statistics statistics;
};
// The coefficients of a common grid, and all that the set-up has to know of them, in one pass.
Gathered gather(const Grid& grid, const StepDiagonals& diagonals, double tolerance, double* coefficients);
bool is_common(const Grid& grid);  // whether its steps are to the neighbours on each axis, or to all

Placed place(const Grid& grid, int64 offset, const double* diagonal, double* coefficients);
Definite definite(const Grid& grid, const double* coefficients, double tolerance);
Statistics statistics(const Grid& grid, const double* coefficients);
template <class T>
void rounded(const Grid& grid, const double* coefficients, T* result);
void interpolation(const Grid& grid, const double* coefficients, double* weights);
void galerkin(const Grid& grid, const double* coefficients, const double* weights, double* coarse);

// ---- a cycle --------------------------------------------------------------------------------------
// `work` has a value for each point of the grid.
template <class T>
void descend(const Grid& grid, const T* coefficients, const T* weights, Smoother<T> smoother, const T* b, T* x,
             T* coarse, T* work);
template <class T>
void ascend(const Grid& grid, const T* coefficients, const T* weights, Smoother<T> smoother, const T* b, const T* x,
            const T* e, T* out, T* work);
template <class T>
void residual(const Grid& grid, const T* coefficients, const T* b, const T* x, T* r);
// out = A x for a dense matrix in C order.
template <class T>
void multiply_dense(int64 n, const T* matrix, const T* x, T* out);

// ---- lines ----------------------------------------------------------------------------------------
template <class T>
void pivots(const Grid& grid, int axis, const double* coefficients, T* inverse);
// `work` has a value for each point of the grid.
template <class T>
void smooth_lines(const Grid& grid, int axis, const T* coefficients, const T* inverse, T omega, const T* r, T* x,
                  T* work);
template <class T>
void restricted(const Grid& grid, const T* weights, const T* r, T* coarse);
template <class T>
void corrected(const Grid& grid, const T* weights, const T* x, const T* e, T* out);

// ---- vectors --------------------------------------------------------------------------------------
// The largest absolute value (NaN if there is one), the sum, and the sum of squares; waits for them.
struct Sums {
  double largest, sum, squares;
};
template <class T>
Sums sums(int64 n, const T* x);
template <class T>
Scalar inner_product(int64 n, const T* x, const T* y);  // sum of conj(x[i]) y[i], in float64
// out = alpha x + beta y, or alpha x if beta is 0; out may be x or y.
template <class X, class Out>
void combine(int64 n, double alpha, const X* x, double beta, const X* y, Out* out);
void shift(int64 n, const double* x, double by, double* out);
void add_clipped_products(int64 n, const double* a, const double* x, double* y);  // y[i] = max(y[i] + a[i] x[i], 0)
template <class T>
void fill_random(int64 n, T* x);  // numbers from -1/2 to 1/2, always the same ones

// Where the values of a grid are in memory: lines of nx values, `pitch` apart; without a pitch, one after the other.
struct Lines {
  int64 nx = 0, pitch = 0, origin = 0;
  constexpr int64 at(int64 i) const {
    if (pitch == 0) return i;
    const int64 line = i <= 0xffffffff ? static_cast<unsigned>(i) / static_cast<unsigned>(nx) : i / nx;
    return origin + line * pitch + (i - line * nx);
  }
};

// The diagonals of a symmetric matrix on the main one and above, by ascending offset: element (i, i + offset) is at[i].
struct UpperDiagonals {
  static constexpr int kMost = 32;
  int count = 0;
  DType dtype = DType::f64;
  int64 offsets[kMost];
  const void* at[kMost];
};

// Preconditioned conjugate gradients, whose factors stay on the device.
class ConjugateGradients {
 public:
  ConjugateGradients();
  // q = A p. `step` need not compute the inner product of the two then.
  void multiply(int64 n, const UpperDiagonals& matrix, const double* p, double* q);
  // Completes the last step of x, and makes the preconditioned residual z a direction p, from the second one on
  // conjugate to the last one. `lines` says where the values of z are. If their number is not 0, the inner product of r
  // and z is the sum of some products.
  template <class T>
  void direction(int64 n, const double* r, const T* z, const Lines& lines, double* p, double* x, const double* products,
                 int64 count);
  // The residual after a step in direction p, where q = A p, also rounded to `small`; the inner product of r and z
  // before, and the square of the norm of the new residual. Without a step if one of the inner products is not
  // positive. Waits for the device.
  template <class T>
  std::array<double, 2> step(int64 n, const double* p, const double* q, double* r, T* small, const Lines& lines);
  // Completes the last step of x.
  void finish(int64 n, const double* p, double* x);

 private:
  Array factors_, partial_;
  bool first_ = true, multiplied_ = false;
};

}  // namespace diagsparse::cuda::multigrid
