// Comparisons that exist on the CPU only: matrices entry by entry.
#pragma once

#include "core/elementwise.hpp"

namespace diagsparse {

// The positions at which op(a) and op(b) (csr, csc or coo) differ, as index arrays of one of these formats. `dtype` can
// hold the values of both. A NaN differs from everything.
std::vector<Part> unequal_places(const std::string& format, const ScaledMatrix& a, const ScaledMatrix& b, DType dtype);

// The index arrays of the entries e of a csr, csc or coo matrix for which keep[e] is true.
std::vector<Part> named_places(const Matrix& a, const bool* keep);

}  // namespace diagsparse
