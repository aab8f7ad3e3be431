// The benchmark of memory bandwidth for compare and bench.
#pragma once

#include <string>
#include <vector>

#include "core/types.hpp"
#include "cpu/simd.hpp"

namespace diagsparse {

// Sums `count` doubles (rounded down to a multiple of 64 Ki) with all threads; the caller measures the time.
using Reader = double (*)(const double* data, int64 count);

std::string instruction_set();                // in use: "portable", "avx2" or "avx512"
std::vector<std::string> instruction_sets();  // compiled and supported by this processor

}  // namespace diagsparse
