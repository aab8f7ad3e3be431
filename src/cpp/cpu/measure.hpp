// The memory-reading yardstick of compare and bench.
#pragma once

#include "core/types.hpp"
#include "cpu/each_set.hpp"

namespace diagsparse {

// Sums `count` doubles (rounded down to 64 Ki) by threads; the caller times it.
using Reader = double (*)(const double* data, int64 count);

std::string instruction_set();  // the one in use: "portable", "avx2" or "avx512"

}  // namespace diagsparse
