// The only owner class: a matrix of any format is named arrays, a shape and a dtype.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/array.hpp"
#include "core/diagonals.hpp"
#include "core/kept.hpp"
#include "core/kernel_table.hpp"

namespace diagsparse {

using Part = std::pair<std::string, Array>;

struct Matrix {
  std::string format;
  DType dtype = DType::f64;
  int64 rows = 0, cols = 0;
  Array values;
  LayoutPtr layout;             // the diagonal family: where each diagonal lies
  std::vector<Part> structure;  // the other formats: their index arrays, as their headers name them
  std::shared_ptr<Kept> kept;   // the other formats: what kernels keep with this structure

  std::vector<Part> parts() const;  // every array by name, the values first
  int64 nbytes() const;
  int device() const { return values.device; }
  const Array& index(const char* name) const;
};

// ---- The diagonal family ------------------------------------------------------------------------
const DiagonalFormat* find_diagonal_format(const std::string& name);  // nullptr when it is none
const DiagonalFormat& diagonal_format(const std::string& name);
// A matrix over this layout; `values` may be shared with the caller.
Matrix make_diagonal(const DiagonalFormat& format, LayoutPtr layout, Array values);

// ---- Formats of index arrays --------------------------------------------------------------------
struct IndexFormat {
  const char* name;
  const char* dual;                // the format in which the same arrays hold the transpose; nullptr: there is none
  void (*check)(const Matrix& m);  // std::invalid_argument unless the arrays are a canonical matrix of the format
};
const IndexFormat& index_format(const std::string& name);

// ---- Products -----------------------------------------------------------------------------------
// What C = op(A) op(B) looks like, and how its values come about, for any values on these structures.
struct Plan {
  std::string format;  // of C
  std::string kernel;  // its name
  Typed<MatmulKernel> multiply;
  DType dtype = DType::f64;  // of C, for the planned operands
  int64 rows = 0, cols = 0;
  int device = 0;
  Op op_a, op_b;
  Triangle triangle = Triangle::both;  // the part of C that is computed
  LayoutPtr a, b;                      // diagonal family: the layouts that it was made for
  LayoutPtr c;
  Sums sums;
  std::vector<Part> a_structure, b_structure;  // csr: the structures that it was made for
  Array indptr, indices;                       // csr: C's structure, shared by every result
  Kept kept;                                   // what the kernel keeps with the plan

  // C = alpha op(A) op(B), as a new matrix, and with + beta C, into `out`. Throws std::invalid_argument, with
  // nothing written, unless A, B and out have the structures that the plan was made for.
  Matrix run(const Matrix& a, const Matrix& b, Scalar alpha) const;
  void check_into(const Matrix& a, const Matrix& b, const Matrix& out) const;
  void run_into(const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& out) const;

  int64 values_size() const;
  int64 nbytes() const;            // of one result
  int64 workspace_nbytes() const;  // of the plan itself
  Matrix result(DType dtype, bool zero) const;

 private:
  void run_kernel(const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& out) const;
  bool made_for(const Matrix& m, const LayoutPtr& layout, const std::vector<Part>& structure) const;
  void require(bool holds, const char* name, const Matrix& m) const;
};

// Plans the product into `format`, with the diagonals in `extra` added to C (for beta C, SYR2K).
Plan plan_diagonal(const Matrix& a, Op op_a, const Matrix& b, Op op_b, const std::string& format, Triangle triangle,
                   const std::vector<int64>& extra, const std::string& kernel);
Plan plan_csr(const Matrix& a, const Matrix& b, const std::string& kernel);  // each device's own
Plan begin_csr(const Matrix& a, const Matrix& b, const MatmulRow& row);  // what both begin with: all but C's structure

// C .* values of A and B on C's diagonals (element-wise product): same kernel as the product.
Plan plan_elementwise(const Matrix& a, Op op_a, const Matrix& b, Op op_b, LayoutPtr c, const std::string& format);

}  // namespace diagsparse
