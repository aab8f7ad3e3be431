// What a format of several matrices in one does: child by child, each as its own format says.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

// The children of such a matrix, over their slices of its values.
std::vector<Matrix> children_of(const Matrix& m);
// The matrix of these children, of one type; their values are copied to one array.
Matrix joined(const Format& format, const std::vector<Matrix>& children);

// ---- For the tables of the formats ------------------------------------------------------------------
// The structure of arrays that are named as Several::parts() names them.
StructurePtr structure_of_children(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays,
                                   const std::vector<const char*>& children);
// Every child is what its format says, and no two of them have an entry at one place.
void check_children(const Matrix& m);
Matrix children_to_csr(const Matrix& m, Op op);
// Kernel "children": y = alpha op(A) x + beta y, the children by their defaults, one after another.
FormatKernels children_in_turn();

}  // namespace diagsparse
