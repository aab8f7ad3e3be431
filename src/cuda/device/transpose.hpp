// Copies between arrays in C order and in F order.
#pragma once

#include "core/array.hpp"

namespace diagsparse::cuda {

// Whether elements of the same size lie along rows in one array, and along columns in the other one.
bool are_transposes(const Dense& from, const Dense& to);
// to = from for such arrays.
void copy_transposed(const Dense& from, const Dense& to);

}  // namespace diagsparse::cuda
