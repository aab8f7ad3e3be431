// Multigrid on the CPU: the next level of a hierarchy, and the parts of a cycle. Arrays have one value for each point
// of a grid, and those of the next level one for each of its points. Coefficients and weights are stored as
// core/grid.hpp says.
//
// J. E. Dendy, *Black box multigrid*, Journal of Computational Physics 48 (1982), 366-386.
#pragma once

#include "core/grid.hpp"
#include "cpu/simd.hpp"

namespace diagsparse::multigrid {

// What the set-up has to know of the coefficients.
struct Statistics {
  double row_sum;                // the largest absolute value of the sum of a row
  double norm;                   // the largest sum of absolute values in a row
  double bound;                  // of the eigenvalues of D^-1 A: the largest sum of absolute values in one of its rows
  std::vector<double> coupling;  // the sum of absolute values on each diagonal
};
Statistics statistics(const Grid& grid, const double* coefficients);

// The coefficients in another type, with a main diagonal such that the sums of the rows stay what they are: they may be
// many orders of magnitude smaller than the coefficients, and determine the smallest eigenvalues.
template <class T>
void rounded(const Grid& grid, const double* coefficients, T* result);

// The weights of interpolation, for all targets and coarse points. A point between two coarse points has the value that
// solves its row, after the coefficients of the other axes are added up; the points between these follow from them. So
// constants are interpolated exactly where a row adds up to zero, and jumps of coefficients are respected.
void interpolation(const Grid& grid, const double* coefficients, double* weights);

// The coefficients of all 27 steps of P^T A P on the coarse grid, where P is the interpolation; those that are zero
// everywhere are reported as absent. `coarse` has a value for each coarse point, one step after another, in the order
// of their codes.
std::vector<bool> galerkin(const Grid& grid, const double* coefficients, const double* weights, double* coarse);

// A smoother of two steps, as the polynomial e = a1 s + a2 D^-1 A s of the scaled residual s = D^-1 (b - A x), where D
// is the main diagonal of A: two steps of Jacobi's method, or a Chebyshev polynomial.
template <class T>
struct Smoother {
  T a1, a2;
};

template <class T>
struct Cycle {
  // x = the smoothed solution, from zero; coarse = P^T (b - A x).
  void (*descend)(const Grid&, const T* coefficients, const T* weights, Smoother<T>, const T* b, T* x, T* coarse);
  // out = x + P e, smoothed; not in place.
  void (*ascend)(const Grid&, const T* coefficients, const T* weights, Smoother<T>, const T* b, const T* x, const T* e,
                 T* out);
  // r = b - A x.
  void (*residual)(const Grid&, const T* coefficients, const T* b, const T* x, T* r);
};

}  // namespace diagsparse::multigrid
