// The sum of squares of real values, for norms.
#pragma once

#include <vector>

#include "core/array.hpp"
#include "cpu/simd.hpp"

namespace diagsparse {

// In double precision, in an order that does not depend on the number of threads; one kernel for each instruction set.
using SumOfSquares = double (*)(const std::vector<Array>& arrays, double factor);  // of the values

}  // namespace diagsparse
