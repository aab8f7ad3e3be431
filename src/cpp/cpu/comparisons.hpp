// What only the CPU compares: matrices entry by entry.
#pragma once

#include "core/elementwise.hpp"

namespace diagsparse {

// Where op(a) and op(b) of csr, csc and coo differ, as index arrays of one of these formats; `dtype` holds the values
// of both. What is no number differs from everything.
std::vector<Part> unequal_places(const std::string& format, const ScaledMatrix& a, const ScaledMatrix& b, DType dtype);

// The index arrays of csr, csc or coo without the entries that `keep` (one for each) does not name.
std::vector<Part> named_places(const Matrix& a, const bool* keep);

}  // namespace diagsparse
