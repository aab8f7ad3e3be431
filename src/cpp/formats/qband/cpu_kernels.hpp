// Products of quasi-bands on the CPU; src/cpp/formats/qband/simd.cpp has the table.
#pragma once

#include "core/kernel_table.hpp"

namespace diagsparse {

MatmulRow multiply_quasi_bands_by_rows();      // "rows": a row of C at a time, summed side by side
MatmulRow multiply_quasi_bands_by_segments();  // "segments": algorithm 3 of Vooturi and Kothapalli (2016)

}  // namespace diagsparse
