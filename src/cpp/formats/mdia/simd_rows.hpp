// Access to masked diagonals on the CPU: the diagonals of a block, and the rows of a diagonal as vectors.
#pragma once

#include <algorithm>

#include "core/kernel_table.hpp"
#include "formats/mdia/cpu_masks.hpp"
#include "kernels/simd/spread.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

constexpr int kEights = kMaskRows / 8;

// The bits of up to 32 masks that are not 0. They are computed for all masks at once, because a branch for each mask
// would be mispredicted.
[[gnu::always_inline]] inline std::uint32_t nonzero_masks(const Mask* masks, int count) {
  std::uint32_t nonzero = 0;
  int d = 0;
#if defined(__AVX512F__)
  for (; d < count; d += 16) {
    const auto inside = static_cast<__mmask16>(first_rows(count - d));
    const __m512i vector = _mm512_maskz_loadu_epi32(inside, masks + d);
    nonzero |= static_cast<std::uint32_t>(_mm512_test_epi32_mask(vector, vector)) << d;
  }
#elif defined(__AVX2__)
  for (; d + 8 <= count; d += 8) {
    const __m256i vector = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(masks + d));
    const __m256i zero_lanes = _mm256_cmpeq_epi32(vector, _mm256_setzero_si256());
    nonzero |= static_cast<std::uint32_t>(~_mm256_movemask_ps(_mm256_castsi256_ps(zero_lanes)) & 255) << d;
  }
#endif
  for (; d < count; ++d) nonzero |= static_cast<std::uint32_t>(masks[d] != 0) << d;
  return nonzero;
}

// Calls visit(d, rows) for each diagonal that has elements in a block of A.
template <class T, class F>
[[gnu::always_inline]] inline void for_each_mask(const Mdia<T>& a, int64 block, const F& visit) {
  const Mask* const masks = a.mask + block * a.diagonals;
  for (int64 first = 0; first < a.diagonals; first += kMaskRows) {
    const int count = static_cast<int>(std::min(kMaskRows, a.diagonals - first));
    for_each_row(nonzero_masks(masks + first, count), [&](int d) { visit(first + d, masks[first + d]); });
  }
}
// Calls visit(d, rows, values) for these; values in tables are looked up first.
template <class T, class F>
[[gnu::always_inline]] inline void for_each_diagonal(const Mdia<T>& a, int64 block, const F& visit) {
  const T* stored = a.values + a.begin[block];
  T buffer[kPackedRows];
  for_each_mask(a, block, [&](int64 d, Mask rows) {
    const T* values = stored;
    if (a.is_coded(d)) values = look_up_packed(a, block, d, rows, buffer);
    else stored += std::popcount(rows);
    visit(d, rows, values);
  });
}
// Calls visit_coded(d, rows) instead for diagonals with tables.
template <class T, class F, class G>
[[gnu::always_inline]] inline void for_each_diagonal(const Mdia<T>& a, int64 block, const F& visit,
                                                     const G& visit_coded) {
  const T* stored = a.values + a.begin[block];
  for_each_mask(a, block, [&](int64 d, Mask rows) {
    if (a.is_coded(d)) return visit_coded(d, rows);
    visit(d, rows, stored);
    stored += std::popcount(rows);
  });
}

// A value of the table of a diagonal.
template <class V, class U>
[[gnu::always_inline]] inline V table_value(const Mdia<U>& a, const Coding& coding, unsigned code) {
  const U u = a.values[coding.table + code];
  if constexpr (is_complex<U>) return convert<V>(u);
  else return convert<V>(static_cast<Real<V>>(u));
}

// Looks up the values of all rows of a block; rows that are not stored get any value of the table.
template <class V, class U>
[[gnu::always_inline]] inline void look_up_all(const Mdia<U>& a, int64 block, int64 d, V* out) {
  const Coding& coding = a.codings[d];
  const auto value = [&](unsigned code) { return table_value<V>(a, coding, code); };
  const std::uint32_t* const codes = a.codes + block * a.words + coding.word;
  if (coding.bits == 0) {
    std::fill_n(out, kMaskRows, value(0));
  } else if (coding.bits == 1) {
    const V low = value(0), high = value(1);
    for (int i = 0; i < kMaskRows; ++i) out[i] = *codes >> i & 1 ? high : low;
  } else {
    const auto look_up = [&]<int bits>(std::integral_constant<int, bits>) {
      constexpr int in_word = kMaskRows / bits;
      for (int w = 0; w < bits; ++w) {
        const std::uint32_t word = codes[w];
#pragma GCC unroll 16
        for (int i = 0; i < in_word; ++i) out[w * in_word + i] = value(word >> i * bits & ((1u << bits) - 1));
      }
    };
    if (coding.bits == 2) look_up(std::integral_constant<int, 2>{});
    else if (coding.bits == 4) look_up(std::integral_constant<int, 4>{});
    else look_up(std::integral_constant<int, 8>{});
  }
}

// Calls f(g, values) for each group g of eight rows in which `rows` and `needed` have a common row, with 0 for rows
// that are not in `rows`. can_overread: eight values can be read from the first value of any group.
template <class T, class F>
[[gnu::always_inline]] inline void for_each_eight(Mask rows, Mask needed, const T* value, bool can_overread,
                                                  const F& f) {
  if (rows == kAllRows) {
#pragma GCC unroll 4
    for (int g = 0; g < kEights; ++g) f(g, Row<T>::at(value + 8 * g));
    return;
  }
#pragma GCC unroll 4
  for (int g = 0; g < kEights; ++g) {
    const unsigned set = rows >> 8 * g & 255;
    if ((set & needed >> 8 * g) == 0) continue;
    f(g, spread(set, value + std::popcount(rows & first_rows(8 * g)), can_overread));
  }
}

// The same for a diagonal with a table, whose values are converted to V. `buffer`: 32 values.
template <class V, class U, class F>
[[gnu::always_inline]] inline void for_each_coded_eight(const Mdia<U>& a, int64 block, int64 d, Mask rows, V* buffer,
                                                        const F& f) {
  const auto all = [&](const auto& values) {
#pragma GCC unroll 4
    for (int g = 0; g < kEights; ++g) {
      if (const unsigned set = rows >> 8 * g & 255; set != 0) f(g, select(set, values(g)));
    }
  };
  const Coding& coding = a.codings[d];
  const auto filled = [&](unsigned code) { return Row<V>::filled(table_value<V>(a, coding, code)); };
  if (coding.bits == 0) {
    const Row<V> value = filled(0);
    all([&](int) { return value; });
  } else if (coding.bits == 1) {
    const Row<V> low = filled(0), high = filled(1);
    const std::uint32_t codes = a.codes[block * a.words + coding.word];
    all([&](int g) { return choose(codes >> 8 * g & 255, high, low); });
  } else {
    look_up_all(a, block, d, buffer);
    all([&](int g) { return Row<V>::at(buffer + 8 * g); });
  }
}

// The values of the rows of a mask, converted to V in `buffer` if necessary.
template <class V, class U>
[[gnu::always_inline]] inline const V* converted(Mask rows, const U* values, V* buffer) {
  if constexpr (std::is_same_v<U, V>) {
    return values;
  } else {
    const int count = std::popcount(rows);
    if (count >= Row<V>::lanes) return widened(values, count, buffer);
    for (int k = 0; k < count; ++k) buffer[k] = convert<V>(static_cast<Real<V>>(values[k]));
    return buffer;
  }
}

// The kernels, each of which has its own file.
Typed<MatvecKernel> masked_matvec();
Typed<MatmulKernel> masked_matmul();

}  // namespace diagsparse::DIAGSPARSE_ISA
