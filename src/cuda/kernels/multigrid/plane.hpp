// A level of multigrid on a GPU for grids of two axes, both of which are coarsened and neither of which is periodic,
// with 5 or 9 points: the common case, with kernels that read each coefficient once in each half of a cycle.
//
// The matrix is symmetric, so that only the main diagonal and the steps to points that follow are stored. Vectors and
// coefficients are surrounded by zeros, and lines are aligned. Line y of the grid begins at `origin + y pitch`.
#pragma once

#include "kernels/multigrid/multigrid.hpp"

namespace diagsparse::cuda::multigrid {

class Plane {
 public:
  // The matrix in float64, one of a grid that is coarsened, and the weights of its interpolation.
  Plane(const Grid& grid, const double* coefficients, const double* weights, double a1, double a2, DType dtype);
  static bool supports(const Grid& grid);

  const Lines& lines() const { return lines_; }
  const Array& b() const { return b_; }
  const Array& e() const { return e_; }
  int64 nbytes() const;
  void used_here() const;  // keeps the memory until the work on this stream is done

  void load(const Array& flat) const;    // b = flat
  void unload(const Array& flat) const;  // flat = e
  // The right-hand side of the next level, a plane or an array, after smoothing from zero.
  void descend(const Plane& below) const;
  void descend(const Array& below) const;
  // e = the smoothed solution after the correction by the next level, a plane or an array.
  void ascend(const Plane& below) const;
  void ascend_from_flat(const Array& below);
  // Partial sums of the inner product of b and e, which `ascend` computes once this has been called.
  const Array& products();
  // For a second visit: b becomes the residual, and e is put aside; then what was put aside is added to e.
  void begin_correction();
  void end_correction() const;

 private:
  void descend(const Array& below, const Lines& to) const;
  void ascend(const Array& correction) const;  // in lines that are surrounded by zeros
  template <class T>
  void pack(const double* coefficients, const double* weights);
  Grid grid_;
  double a1_, a2_;
  DType dtype_;
  Lines lines_, coarse_;
  int64 rows_, coarse_rows_;  // with those around the grid
  Array coefficients_, weights_, b_, e_, aside_, coarse_e_, products_;
};

}  // namespace diagsparse::cuda::multigrid
