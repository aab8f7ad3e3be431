// hyb: the first entries of each row in ell and the rest in coo, so that a single long row does not pad all others.
//
//       matrix A (4 x 5), width 2       ell_indices = [ 0  0  1  2 ]
//     | 1  5  .  .  . |                               [ 1  1  2  3 ]
//     | 9  2  6  .  . |                 coo_row     = [ 1 2 3 ]
//     | . 10  3  7  . |                 coo_col     = [ 2 3 4 ]
//     | .  . 11  4  8 |                 values      = [ 1 9 10 11 5 2 3 4 | 6 7 8 ]
//
// A = ell + coo, two matrices that share an array of values: first those of ell, (width, m), then those of coo.
// ell_indices: int32 (width, m), -1 in the padding; coo_row, coo_col: int32 (rest), values: T (width m + rest).
// Bytes: width m (sizeof(T) + 4) + rest (sizeof(T) + 8). The width is an option, by default the one with the fewest
// bytes.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

extern const Format hyb;

}  // namespace diagsparse
