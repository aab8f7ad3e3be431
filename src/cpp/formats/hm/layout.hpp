// hm: the Hossain-Mahmud scheme. Diagonals are stored one after another at their exact length, without padding.
//
//       matrix A (4 x 5)         offsets = [ 0        1        -1      ]
//     | 1  5  .  .  . |
//     | 9  2  6  .  . |          values  = [ 1 2 3 4  5 6 7 8  9 10 11 ]
//     | . 10  3  7  . |
//     | .  . 11  4  8 |          starts  = [ 0        4        8       11 ]
//
// offsets: int64 (D), 0 first if it is stored, then superdiagonals ascending, then subdiagonals descending.
// values: T (sum of the lengths); A[i, j] is at position min(i, j) of diagonal j - i.
// starts: int64 (D + 1), determined by the offsets.
// Bytes: sizeof(T) * (sum of the lengths) + 16 D + 8; a full band (kl, ku) of order n has
// n (ku + kl + 1) - ku (ku + 1) / 2 - kl (kl + 1) / 2 values.
// Haque, Parvez, Hossain, "GPU Algorithms for Structured Sparse Matrix Multiplication with Diagonal
// Storage Schemes", Algorithms 17(1):31, 2024; the scheme is Hossain and Mahmud's (HPEC 2019).
#pragma once

#include "core/format.hpp"

namespace diagsparse {

extern const DiagonalFormat hm;

}  // namespace diagsparse
