// Kernels for products of quasi-bands on the CPU. Their table is in src/cpp/formats/qband/simd.cpp.
#pragma once

#include "core/kernel_table.hpp"

namespace diagsparse {

MatmulRow multiply_quasi_bands_by_rows();      // "rows": sums one row of C at a time
MatmulRow multiply_quasi_bands_by_segments();  // "segments": algorithm 3 of Vooturi and Kothapalli (2016)

}  // namespace diagsparse
