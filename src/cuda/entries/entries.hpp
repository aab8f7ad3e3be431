// Entries of csr, csc and coo on the device, as sorted keys: what SciPy does for these formats on the CPU.
#pragma once

#include "core/plan.hpp"
#include "device/device_array.hpp"

namespace diagsparse::cuda {

// factor * op(matrix)
struct EntryTerm {
  const Matrix* matrix;
  Op op;
  Scalar factor;
};

enum class Merge {
  sum,      // the entries of all terms, those of the same place added
  product,  // the entries that both of two terms store, multiplied
  nonzero   // the entries that are not 0
};
Matrix merged(const std::string& format, int64 rows, int64 cols, const std::vector<EntryTerm>& terms, Merge how,
              DType dtype);

// From entries in any order, duplicates added: `layout` "coo" (first = rows, second = columns), "csr" (first = indices,
// second = indptr) or "csc". std::invalid_argument for indices outside the shape.
Matrix matrix_from_entries(const std::string& format, int64 rows, int64 cols, const DeviceArray& values,
                           const DeviceArray& first, const DeviceArray& second, const std::string& layout);

// out's stored values = those of op(a) times dense[i, j], all of one type; out has the structure of op(a).
void scale_dense(const Matrix& a, Op op, const DeviceArray& dense, Matrix& out);

// Diagonal k of op(a), for csr, csc and coo.
DeviceArray diagonal(const Matrix& a, Op op, int64 k);

}  // namespace diagsparse::cuda
