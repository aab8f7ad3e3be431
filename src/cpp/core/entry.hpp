// What an entry of csr tells of its matrix. constexpr, so that GPU kernels may ask it too.
#pragma once

#include "core/arithmetic.hpp"
#include "formats/csr.hpp"

namespace diagsparse {

// The first entry of row i whose column is not below `column`; the end of the row where there is none.
template <class T>
constexpr int64 entry_from(const Csr<T>& a, int64 i, int64 column) {
  int64 first = a.indptr[i], last = a.indptr[i + 1];
  while (first < last) {
    const int64 middle = (first + last) / 2;
    if (a.indices[middle] < column) first = middle + 1;
    else last = middle;
  }
  return first;
}

constexpr int64 kLargestBlock = 64;  // rows: an entry looks at those above it

// Whether entry e, of row i, is the first one in its size x size block.
constexpr bool opens_block(const Csr<float>& a, int64 i, int64 e, int64 size) {
  const int64 column = a.indices[e] / size * size;
  if (e > a.indptr[i] && a.indices[e - 1] >= column) return false;
  for (int64 above = i - 1; above >= i / size * size; --above) {
    const int64 found = entry_from(a, above, column);
    if (found < a.indptr[above + 1] && a.indices[found] < column + size) return false;
  }
  return true;
}

constexpr unsigned kSymmetric = 1, kHermitian = 2, kSkewSymmetric = 4, kEverySymmetry = 7;

// Which of them entry e, of row i of a square matrix, breaks: all of them where it has no mirror image. Zeros break
// none, what is no number breaks all.
template <class T>
constexpr unsigned symmetries_broken_by(const Csr<T>& a, int64 i, int64 e) {
  const T value = a.values[e];
  if (is_zero(value)) return 0;
  const int64 j = a.indices[e], mirror = entry_from(a, j, i);
  if (mirror == a.indptr[j + 1] || a.indices[mirror] != i) return kEverySymmetry;
  const T other = a.values[mirror];
  if constexpr (is_complex<T>) {
    const bool real = value.re == other.re, imaginary = value.im == other.im, opposite = value.im == -other.im;
    return (real && imaginary ? 0 : kSymmetric) | (real && opposite ? 0 : kHermitian) |
           (value.re == -other.re && opposite ? 0 : kSkewSymmetric);
  } else {
    return (value == other ? 0 : kSymmetric | kHermitian) | (value == -other ? 0 : kSkewSymmetric);
  }
}

}  // namespace diagsparse
