// Blocks of bmsparse on the CPU: their elements one by one, and their rows as vectors.
#pragma once

#include "formats/bmsparse/layout.hpp"
#include "kernels/simd/spread.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// Calls f(place) for each element of a block, from the last one to the first.
template <class F>
[[gnu::always_inline]] inline void each_element(Bitmap bitmap, const F& f) {
  for (; bitmap != 0; bitmap &= bitmap - 1) f(63 - std::countr_zero(bitmap));
}

// The same bitmap with the first column as the lowest bit of each row.
inline Bitmap arranged(Bitmap x) {
  x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
  x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
  return (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
}

constexpr int kFew = 12;   // elements of a block that are sooner taken one by one
constexpr int kAhead = 2;  // blocks of a transpose, which lie apart, that are called for before they are read

// Calls f(r, row) for all rows of a block. Enough: eight values may be read from any of its own on.
template <class T, class F>
[[gnu::always_inline]] inline void each_row(Bitmap bitmap, const T* value, bool enough, const F& f) {
  if (bitmap == kAllPlaces) {
#pragma GCC unroll 8
    for (int r = 0; r < kTile; ++r) f(r, Row<T>::at(value + kTile * r));
    return;
  }
  const Bitmap rows = arranged(bitmap);
#pragma GCC unroll 8
  for (int r = 0; r < kTile; ++r) {
    const unsigned set = row_bits(rows, r);
    f(r, spread(set, value, enough));
    value += std::popcount(set);
  }
}

}  // namespace diagsparse::DIAGSPARSE_ISA
