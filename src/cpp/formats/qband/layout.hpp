// qband: quasi-bands. Diagonals that are nearly full are stored in dia, all other entries in coosr.
//
//       matrix A (5 x 5)         dia_offsets  = [ 0 1 ]
//     | 1  5  .  .  . |          coosr_row    = [ 3 4 ]
//     | .  2  6  .  . |          coosr_col    = [ 0 2 ]
//     | .  .  3  7  . |          coosr_indptr = [ 0 0 0 0 1 2 ]
//     | 9  .  .  4  8 |          values       = [ 1 2 3 4 0 | 5 6 7 8 * | 9 10 ]      * padding
//     | .  . 10  .  . |
//
// A = bands + rest, two matrices that share an array of values: first those of dia, (D, m), then those of coosr. The
// rest has no entries on the diagonals of the bands, all of whose elements are stored, zeros included.
// dia_offsets: int64 (D), coosr_row, coosr_col: int32 (rest), coosr_indptr: int64 (m + 1), values: T (D m + rest).
// Bytes: D (m sizeof(T) + 8) + rest (sizeof(T) + 8) + 8 (m + 1). The diagonals are an option.
// Vooturi and Kothapalli, "Parallel Algorithm for Quasi-Band Matrix-Matrix Multiplication" (2016).
#pragma once

#include "core/format.hpp"

namespace diagsparse {

extern const Format qband;

}  // namespace diagsparse
