// Blocks of bmsparse on the CPU: their elements one by one, and their rows as vectors.
#pragma once

#include <algorithm>

#include "formats/bmsparse.hpp"
#include "kernels/each_set/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// Calls f(place) for each element of a block, from the last one to the first.
template <class F>
[[gnu::always_inline]] inline void each_element(Bitmap bitmap, const F& f) {
  for (; bitmap != 0; bitmap &= bitmap - 1) f(63 - std::countr_zero(bitmap));
}

// ---- A row of a block as vectors ------------------------------------------------------------------------
template <class T>
constexpr bool kReal = std::is_same_v<T, double> || std::is_same_v<T, float>;

// Eight values, in as many vectors as that takes.
template <class T>
struct Row {
  static constexpr int lanes = std::min<int>(8, kVectorBytes / sizeof(T)), parts = 8 / lanes;
  using Vec = Vector<T, lanes>;
  Vec part[parts] = {};

  static Row at(const T* p) {
    Row row;
    for (int n = 0; n < parts; ++n) row.part[n] = load<T, lanes>(p + n * lanes);
    return row;
  }
  void put(T* p) const {
    for (int n = 0; n < parts; ++n) store(p + n * lanes, part[n]);
  }
};

// spread(set, p): those of eight places that are set get the values that lie side by side from p on, others 0. `set` is
// a row of arranged(bitmap).
#if defined(__AVX512VL__)
constexpr bool kSpreads = true;
// The first column as the lowest bit of each row.
inline Bitmap arranged(Bitmap x) {
  x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
  x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
  return (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
}
inline Row<double> spread(unsigned set, const double* p) {
  return {{_mm512_maskz_expandloadu_pd(static_cast<__mmask8>(set), p)}};
}
inline Row<float> spread(unsigned set, const float* p) {
  return {{_mm256_maskz_expandloadu_ps(static_cast<__mmask8>(set), p)}};
}
#elif defined(__AVX2__)
constexpr bool kSpreads = true;
inline Bitmap arranged(Bitmap x) { return x; }

// As many lanes as values are loaded, the others are 0; then each place takes its lane, an empty one the last, which is
// 0. Tables: by how many values, and by which places.
struct SpreadTables {
  alignas(32) std::int32_t first[9][8] = {};  // of 32 bits
  alignas(32) std::int32_t half[16][8] = {};  // lanes of 32 bits for four places of 64
  std::uint8_t row[256][8] = {};
  constexpr SpreadTables() {
    for (int n = 0; n <= 8; ++n) {
      for (int l = 0; l < n; ++l) first[n][l] = -1;
    }
    for (unsigned set = 0; set < 256; ++set) {
      for (int place = 0, lane = 0; place < 8; ++place) row[set][place] = set >> (7 - place) & 1 ? lane++ : 7;
    }
    for (unsigned set = 0; set < 16; ++set) {
      for (int place = 0, lane = 0; place < 4; ++place) {
        const int from = set >> (3 - place) & 1 ? lane++ : 3;
        half[set][2 * place] = 2 * from, half[set][2 * place + 1] = 2 * from + 1;
      }
    }
  }
};
constexpr SpreadTables kTables;

inline Vector<double, 4> spread_half(unsigned set, const double* p) {
  const auto* const first = reinterpret_cast<const __m256i*>(kTables.first[2 * std::popcount(set)]);
  const __m256d some = _mm256_maskload_pd(p, _mm256_load_si256(first));
  const auto* const half = reinterpret_cast<const __m256i*>(kTables.half[set]);
  return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(some), _mm256_load_si256(half)));
}
inline Row<double> spread(unsigned set, const double* p) {
  return {{spread_half(set >> 4, p), spread_half(set & 15, p + std::popcount(set >> 4))}};
}
inline Row<float> spread(unsigned set, const float* p) {
  const auto* const first = reinterpret_cast<const __m256i*>(kTables.first[std::popcount(set)]);
  const __m256 some = _mm256_maskload_ps(p, _mm256_load_si256(first));
  const __m128i row = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kTables.row[set]));
  return {{_mm256_permutevar8x32_ps(some, _mm256_cvtepu8_epi32(row))}};
}
#else
constexpr bool kSpreads = false;
inline Bitmap arranged(Bitmap x) { return x; }
template <class T>
Row<T> spread(unsigned, const T*) {
  return {};
}
#endif

constexpr int kFew = 12;   // elements of a block that are sooner taken one by one
constexpr int kAhead = 2;  // blocks of a transpose, which lie apart, that are called for before they are read

// Calls f(r, row) for all rows of a block.
template <class T, class F>
[[gnu::always_inline]] inline void each_row(Bitmap bitmap, const T* value, const F& f) {
  if (bitmap == kAllPlaces) {
#pragma GCC unroll 8
    for (int r = 0; r < kTile; ++r) f(r, Row<T>::at(value + kTile * r));
    return;
  }
  const Bitmap rows = arranged(bitmap);
#pragma GCC unroll 8
  for (int r = 0; r < kTile; ++r) {
    const unsigned set = row_bits(rows, r);
    f(r, spread(set, value));
    value += std::popcount(set);
  }
}

// Of numbers that are a multiple of eight.
template <class T>
bool all_finite(const T* values, std::size_t count) {
  const auto* const parts = reinterpret_cast<const Real<T>*>(values);
  Real<T> none[8] = {};
  for (std::size_t k = 0; k < count * sizeof(T) / sizeof(Real<T>); k += 8) {
    for (int l = 0; l < 8; ++l) none[l] += parts[k + l] * 0;
  }
  Real<T> all = 0;
  for (const Real<T> part : none) all += part;
  return all == 0;
}

}  // namespace diagsparse::DIAGSPARSE_ISA
