// Detects the symmetries of a csr matrix with high probability, in one pass in storage order, without looking up mirror
// images.
//
// Each entry is hashed with the position above the diagonal of itself or its mirror image. Hashes of entries above the
// diagonal are added, those of entries below it are subtracted. If every entry has an equal mirror image, the sum is 0.
#pragma once

#include "core/matrix.hpp"
#include "cpu/simd.hpp"

namespace diagsparse {

// Bits of core/symmetry.hpp, except skew symmetry. A symmetry that is not reported is certainly broken. One that is
// reported is wrong with a probability of 2^-64, unless the matrix was constructed to deceive this test.
unsigned seeming_symmetries(const Matrix& csr);

struct MirrorSums {
  std::uint64_t real = 0;         // sum for real parts
  std::uint64_t same_sign = 0;    // for imaginary parts, with their signs
  std::uint64_t opposite = 0;     // for imaginary parts, all added
  std::uint64_t nans = 0;         // number of NaNs
  std::uint64_t on_diagonal = 0;  // imaginary parts on the diagonal that are not 0

  void operator+=(const MirrorSums& other) {
    real += other.real;
    same_sign += other.same_sign;
    opposite += other.opposite;
    nans += other.nans;
    on_diagonal += other.on_diagonal;
  }
};

// The sums for the rows [first, last); one kernel for each instruction set.
using AddMirrors = MirrorSums (*)(const Matrix& csr, int64 first, int64 last);

}  // namespace diagsparse
