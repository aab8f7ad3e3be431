// Access to blocks of bmsparse on the CPU: element by element, and row by row as vectors.
#pragma once

#include "formats/bmsparse/layout.hpp"
#include "kernels/simd/spread.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// Calls f(position) for each element of a block, from the last one to the first.
template <class F>
[[gnu::always_inline]] inline void for_each_element(Bitmap bitmap, const F& f) {
  for (; bitmap != 0; bitmap &= bitmap - 1) f(63 - std::countr_zero(bitmap));
}

// Reverses the bits of each row, so that the first column is the lowest bit.
inline Bitmap reverse_rows(Bitmap x) {
  x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
  x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
  return (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
}

constexpr int kFew = 12;   // blocks with fewer elements are processed one element at a time
constexpr int kAhead = 2;  // prefetch distance in blocks for transposes, whose blocks are not contiguous

// Calls f(r, row) for all rows of a block. can_overread: eight values can be read from the start of any row.
template <class T, class F>
[[gnu::always_inline]] inline void for_each_row(Bitmap bitmap, const T* value, bool can_overread, const F& f) {
  if (bitmap == kFullBitmap) {
#pragma GCC unroll 8
    for (int r = 0; r < kTile; ++r) f(r, Row<T>::at(value + kTile * r));
    return;
  }
  const Bitmap rows = reverse_rows(bitmap);
#pragma GCC unroll 8
  for (int r = 0; r < kTile; ++r) {
    const unsigned set = row_bits(rows, r);
    f(r, spread(set, value, can_overread));
    value += std::popcount(set);
  }
}

}  // namespace diagsparse::DIAGSPARSE_ISA
