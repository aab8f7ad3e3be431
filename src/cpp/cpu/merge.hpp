// What only the CPU compares: matrices entry by entry.
#pragma once

#include "core/elementwise.hpp"

namespace diagsparse {

// Where op(a) and op(b) of csr, csc and coo differ, as index arrays of one of these formats; `dtype` holds the values
// of both. What is no number differs from everything.
std::vector<Part> unequal_places(const std::string& format, const EntryTerm& a, const EntryTerm& b, DType dtype);

}  // namespace diagsparse
