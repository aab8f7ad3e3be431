// Factors of tridiagonal matrices on the GPU without pivoting, by partitions, for many solves.
#pragma once

#include <optional>
#include <vector>

#include "core/array.hpp"

namespace diagsparse::cuda::tridiagonal {

// The diagonals of an n x n matrix: lower and upper have n - 1 elements (or none: zeros), main has n. It consists of
// diagonal blocks of `block` rows; `block` is n, or divides n. If `stride` is not 0, each array starts at the elements
// of the first block, and those of the next one follow after `stride` elements.
struct Matrix {
  Array lower, main, upper;
  int64 n, block, stride = 0;
};

class Factors {
 public:
  // Waits for the device. Returns nothing if elimination without pivoting lets elements grow, or finds no finite
  // pivots. The result refers to the lower diagonal.
  static std::optional<Factors> of(const Matrix& a);

  // The columns of x are the solutions for those of b; the elements of a column are contiguous. x may be b.
  void solve(const Dense& b, const Dense& x) const;
  int64 nbytes() const;  // without these diagonals

 private:
  struct Level;
  template <class T>
  bool verify();
  template <class T>
  void solve_as(const Dense& b, const Dense& x) const;

  bool refined_ = false;  // whether solutions are improved by a step of iterative refinement
  std::vector<std::shared_ptr<const Level>> levels_;  // each is the system of the separators of the one before
};

// The same for one right-hand side, without storing factors; false if x is not accurate.
bool solve_once(const Matrix& a, const Dense& b, const Dense& x);

}  // namespace diagsparse::cuda::tridiagonal
