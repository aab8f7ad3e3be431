// What only the CPU compares: matrices entry by entry, and diagonals with themselves.
#pragma once

#include "core/elementwise.hpp"

namespace diagsparse {

// Where op(a) and op(b) of csr, csc and coo differ, as index arrays of one of these formats; `dtype` holds the values
// of both. What is no number differs from everything.
std::vector<Part> unequal_places(const std::string& format, const EntryTerm& a, const EntryTerm& b, DType dtype);

// The index arrays of csr, csc or coo without the entries that `keep` (one for each) does not name.
std::vector<Part> named_places(const Matrix& a, const bool* keep);

// Whether every diagonal of a csr matrix, with its zeros, repeats after `period` rows; it may be shorter than that.
// What is no number is the same as any other.
bool repeats_after(const Matrix& csr, int64 period);

}  // namespace diagsparse
