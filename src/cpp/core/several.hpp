// Common code of formats that consist of several matrices (children), each in a format of its own.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

// The children of such a matrix, as views of its values.
std::vector<Matrix> children_of(const Matrix& m);
// The matrix with these children, which have the same type; their values are copied to one array.
Matrix joined(const Format& format, const std::vector<Matrix>& children);

// ---- For the format tables --------------------------------------------------------------------------
// The structure from arrays named as Several::parts() names them.
StructurePtr structure_of_children(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays,
                                   const std::vector<const char*>& children);
void check_each_child(const Matrix& m);  // throws unless every child is valid in its format
// The same, also unless no two of them store an entry at the same position.
void check_children(const Matrix& m);
Matrix children_to_csr(const Matrix& m, Op op);
// Kernel "children": y = alpha op(A) x + beta y, one child after another, each by its default kernel.
FormatKernels children_kernels();

}  // namespace diagsparse
