// Factors of bands on the GPU by block cyclic reduction, with pivoting inside of blocks, for many solves.
#pragma once

#include <optional>
#include <vector>

#include "core/array.hpp"
#include "core/matrix.hpp"

namespace diagsparse::cuda::banded {

class Factors {
 public:
  // Waits for the device. The matrix consists of diagonals, without a packing; op(A) has no nonzeros beyond these
  // distances, at most 64, from its main diagonal. Returns nothing if solutions would be inaccurate without pivoting
  // across blocks. The result refers to the values of A.
  static std::optional<Factors> of(const Matrix& a, Op op, int below, int above);

  // The columns of x are the solutions for those of b; the elements of a column are contiguous. x may be b.
  void solve(const Dense& b, const Dense& x) const;
  int64 nbytes() const { return solved_.nbytes() + couplings_.nbytes(); }  // without A

 private:
  Factors(const Matrix& a, Op op, int below, int above);
  template <class T>
  bool compute();
  template <class T>
  bool verify();
  template <class T>
  void solve_as(const Dense& b, const Dense& x) const;
  template <class T>
  void solve_unrefined(const Dense& b, const Dense& x) const;
  template <class T, int B, int Rows, int K>
  void sweep_all(const Dense& b, const Dense& x) const;
  template <class T>
  auto band() const;
  template <class T>
  auto levels(T* main) const;

  Matrix a_;
  Op op_;
  int below_, above_, block_;  // block_: the rows of a block
  std::vector<int64> counts_;  // of the blocks of each level
  Array solved_, couplings_;
  bool refined_ = false;  // whether solutions are improved by a step of iterative refinement
};

}  // namespace diagsparse::cuda::banded
