// The memory-reading yardstick of compare and bench.
#pragma once

#include <string>
#include <vector>

#include "core/types.hpp"
#include "cpu/simd.hpp"

namespace diagsparse {

// Sums `count` doubles (rounded down to 64 Ki) by threads; the caller times it.
using Reader = double (*)(const double* data, int64 count);

std::string instruction_set();                // the one in use: "portable", "avx2" or "avx512"
std::vector<std::string> instruction_sets();  // those that may be used: compiled, and of this processor

}  // namespace diagsparse
