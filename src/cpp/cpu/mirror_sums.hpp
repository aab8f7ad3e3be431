// Which symmetries the values of csr have, almost surely, in one pass in storage order: no mirror image is looked up.
//
// Every entry is hashed with the place above the diagonal that it or its mirror image has. The hashes of those above
// count up, those of the others down: where all are mirrored the sum is 0.
#pragma once

#include "core/matrix.hpp"
#include "cpu/simd.hpp"

namespace diagsparse {

// Bits of core/symmetry.hpp, of which skew symmetry is not asked for. What is not told is surely broken. What is told
// is wrong for one matrix in 2^64, of those that nobody made to fool it.
unsigned seeming_symmetries(const Matrix& csr);

struct MirrorSums {
  std::uint64_t real = 0;         // of real parts
  std::uint64_t alike = 0;        // of imaginary ones with their signs
  std::uint64_t opposite = 0;     // the same, all counted up
  std::uint64_t no_number = 0;    // values that are none
  std::uint64_t on_diagonal = 0;  // imaginary parts there

  void operator+=(const MirrorSums& other) {
    real += other.real;
    alike += other.alike;
    opposite += other.opposite;
    no_number += other.no_number;
    on_diagonal += other.on_diagonal;
  }
};

// Those of the rows [first, last); a kernel for each instruction set.
using AddMirrors = MirrorSums (*)(const Matrix& csr, int64 first, int64 last);

}  // namespace diagsparse
