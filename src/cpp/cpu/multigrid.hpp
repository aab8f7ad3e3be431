// Multigrid on the CPU: the next level of a hierarchy, and the parts of a cycle. Arrays have one value for each point
// of a grid, and those of the next level one for each of its points. Coefficients and weights are stored as
// core/grid.hpp says.
//
// J. E. Dendy, *Black box multigrid*, Journal of Computational Physics 48 (1982), 366-386.
#pragma once

#include <vector>

#include "core/grid.hpp"
#include "cpu/simd.hpp"

namespace diagsparse::multigrid {

// Writes the elements of a diagonal, which begins in its first row, to the coefficients, in which all others are zero.
Placed place(const Grid& grid, int64 offset, const double* diagonal, double* coefficients);

Definite definite(const Grid& grid, const double* coefficients, double tolerance);

Statistics statistics(const Grid& grid, const double* coefficients);

// The coefficients in another type, with a main diagonal such that the sums of the rows stay what they are: they may be
// many orders of magnitude smaller than the coefficients, and determine the smallest eigenvalues.
template <class T>
void rounded(const Grid& grid, const double* coefficients, T* result);

// The weights of interpolation, for all targets and coarse points. A point between two coarse points has the value that
// solves its row, after the coefficients of the other axes are added up; the points between these follow from them. So
// constants are interpolated exactly where a row adds up to zero, and jumps of coefficients are respected.
void interpolation(const Grid& grid, const double* coefficients, double* weights);

// The coefficients of P^T A P on the coarse grid, where P is the interpolation, for each of its `coarse_steps`.
void galerkin(const Grid& grid, const double* coefficients, const double* weights, double* coarse);

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

// The inverse of the pivots of the elimination along the lines of an axis, for each point.
template <class T>
void pivots(const Grid& grid, int axis, const double* coefficients, T* inverse);

// The parts of a cycle that solves the equations of all points on a line together.
template <class T>
struct LineSmoother {
  // x += omega T^-1 r, where T is the part of the matrix that couples the points of lines along an axis.
  void (*smooth)(const Grid&, int axis, const T* coefficients, const T* inverse, T omega, const T* r, T* x);
  void (*restricted)(const Grid&, const T* weights, const T* r, T* coarse);          // coarse = P^T r
  void (*corrected)(const Grid&, const T* weights, const T* x, const T* e, T* out);  // out = x + P e
};

}  // namespace diagsparse::multigrid
