// Hollow diagonals on the CPU: the diagonals of a block, and rows of one as vectors.
#pragma once

#include <algorithm>

#include "core/kernel_table.hpp"
#include "formats/mdia/cpu_masks.hpp"
#include "kernels/simd/spread.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

constexpr int kEights = kMaskRows / 8;

// Which of up to 32 masks have rows: found for all of them at once, since nobody foresees the next one.
[[gnu::always_inline]] inline std::uint32_t used_of(const Mask* masks, int count) {
  std::uint32_t used = 0;
  int d = 0;
#if defined(__AVX512F__)
  for (; d < count; d += 16) {
    const auto inside = static_cast<__mmask16>(first_rows(count - d));
    const __m512i some = _mm512_maskz_loadu_epi32(inside, masks + d);
    used |= static_cast<std::uint32_t>(_mm512_test_epi32_mask(some, some)) << d;
  }
#elif defined(__AVX2__)
  for (; d + 8 <= count; d += 8) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(masks + d));
    const __m256i none = _mm256_cmpeq_epi32(some, _mm256_setzero_si256());
    used |= static_cast<std::uint32_t>(~_mm256_movemask_ps(_mm256_castsi256_ps(none)) & 255) << d;
  }
#endif
  for (; d < count; ++d) used |= static_cast<std::uint32_t>(masks[d] != 0) << d;
  return used;
}

// Calls take(d, rows, values) for each diagonal that has elements in a block of A.
template <class T, class F>
[[gnu::always_inline]] inline void each_diagonal(const Mdia<T>& a, int64 block, const F& take) {
  const Mask* const masks = a.mask + block * a.diagonals;
  const T* value = a.values + a.begin[block];
  for (int64 first = 0; first < a.diagonals; first += kMaskRows) {
    const int count = static_cast<int>(std::min(kMaskRows, a.diagonals - first));
    each_row_of(used_of(masks + first, count), [&](int d) {
      const Mask rows = masks[first + d];
      take(first + d, rows, value);
      value += std::popcount(rows);
    });
  }
}

// Calls f(g, values of these eight rows) for each eight rows of a mask of which some are in `needed`; those that are
// not in the mask are 0. Enough: eight values may be read from any of its own on.
template <class T, class F>
[[gnu::always_inline]] inline void each_eight(Mask rows, Mask needed, const T* value, bool enough, const F& f) {
  if (rows == kAllRows) {
#pragma GCC unroll 4
    for (int g = 0; g < kEights; ++g) f(g, Row<T>::at(value + 8 * g));
    return;
  }
#pragma GCC unroll 4
  for (int g = 0; g < kEights; ++g) {
    const unsigned set = rows >> 8 * g & 255;
    if ((set & needed >> 8 * g) == 0) continue;
    f(g, spread(set, value + std::popcount(rows & first_rows(8 * g)), enough));
  }
}

// The values of a mask in the type V.
template <class V, class U>
[[gnu::always_inline]] inline const V* in_type(Mask rows, const U* values, V* room) {
  if constexpr (std::is_same_v<U, V>) {
    return values;
  } else {
    const int count = std::popcount(rows);
    if (count >= Row<V>::lanes) return widened(values, count, room);
    for (int k = 0; k < count; ++k) room[k] = convert<V>(static_cast<Real<V>>(values[k]));
    return room;
  }
}

// The kernels, a file each.
Typed<MatvecKernel> masked_matvec();
Typed<MatmulKernel> masked_matmul();

}  // namespace diagsparse::DIAGSPARSE_ISA
