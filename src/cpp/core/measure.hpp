// The memory-reading yardstick of compare and bench.
#pragma once

#include "core/types.hpp"

namespace diagsparse {

// Sums `count` doubles (rounded down to 64 Ki) by threads; the caller times it.
using Reader = double (*)(const double* data, int64 count);
struct RegisterReader {
  RegisterReader(int isa, Reader reader);
};
Reader reader();

}  // namespace diagsparse
