// The sum of squares of real values, for norms.
#pragma once

#include "core/array.hpp"
#include "cpu/simd.hpp"

namespace diagsparse {

// In double precision, in an order that does not depend on the number of threads; one kernel for each instruction set.
using SumOfSquares = double (*)(const Array& values);

}  // namespace diagsparse
