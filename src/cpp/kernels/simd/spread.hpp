// Eight neighbouring places of which some are stored, as vectors: their values lie side by side.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

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

// spread(set, p, enough): those of eight places that are set, the first one in the lowest bit, get the values that lie
// side by side from p on, others 0. Enough: eight values may be read from there.
#if defined(__AVX2__)
constexpr bool kSpreads = true;  // it takes no loop

// Which value each place takes, an empty one the last.
struct Lanes {
  std::uint8_t row[256][8] = {};
  constexpr Lanes() {
    for (unsigned set = 0; set < 256; ++set) {
      for (int place = 0, lane = 0; place < 8; ++place) row[set][place] = set >> place & 1 ? lane++ : 7;
    }
  }
};
constexpr Lanes kLanes;
[[gnu::always_inline]] inline __m128i lanes_of(unsigned set) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kLanes.row[set]));
}
#else
constexpr bool kSpreads = false;
#endif

#if defined(__AVX512VL__)
// Quicker than the processor's own expansion.
inline Row<double> spread(unsigned set, const double* p, bool enough) {
  const auto first = static_cast<__mmask8>((1u << std::popcount(set)) - 1);
  const __m512i lanes = _mm512_maskz_cvtepu8_epi64(0xff, lanes_of(set));  // GCC warns of the plain one
  const __m512d some = enough ? _mm512_loadu_pd(p) : _mm512_maskz_loadu_pd(first, p);
  return {{_mm512_maskz_permutexvar_pd(static_cast<__mmask8>(set), lanes, some)}};
}
inline Row<float> spread(unsigned set, const float* p, bool enough) {
  const auto first = static_cast<__mmask8>((1u << std::popcount(set)) - 1);
  const __m256 some = enough ? _mm256_loadu_ps(p) : _mm256_maskz_loadu_ps(first, p);
  return {{_mm256_maskz_permutexvar_ps(static_cast<__mmask8>(set), _mm256_cvtepu8_epi32(lanes_of(set)), some)}};
}
#elif defined(__AVX2__)
// As many lanes as values are loaded, the others are 0; then each place takes its lane, an empty one the last, which is
// 0. Tables: by how many values, and by which places.
struct SpreadTables {
  alignas(32) std::int32_t first[9][8] = {};  // of 32 bits
  alignas(32) std::int32_t half[16][8] = {};  // lanes of 32 bits for four places of 64
  constexpr SpreadTables() {
    for (int n = 0; n <= 8; ++n) {
      for (int l = 0; l < n; ++l) first[n][l] = -1;
    }
    for (unsigned set = 0; set < 16; ++set) {
      for (int place = 0, lane = 0; place < 4; ++place) {
        const int from = set >> place & 1 ? lane++ : 3;
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
inline Row<double> spread(unsigned set, const double* p, bool) {
  return {{spread_half(set & 15, p), spread_half(set >> 4, p + std::popcount(set & 15))}};
}
inline Row<float> spread(unsigned set, const float* p, bool) {
  const auto* const first = reinterpret_cast<const __m256i*>(kTables.first[std::popcount(set)]);
  const __m256 some = _mm256_maskload_ps(p, _mm256_load_si256(first));
  return {{_mm256_permutevar8x32_ps(some, _mm256_cvtepu8_epi32(lanes_of(set)))}};
}
#else
template <class T>
Row<T> spread(unsigned set, const T* p, bool) {
  T places[8] = {};
  for (; set != 0; set &= set - 1) places[std::countr_zero(set)] = *p++;
  return Row<T>::at(places);
}
#endif

// The other way: those of eight values whose places are set, side by side from p on. Enough: whatever is behind them
// may be overwritten, eight values in all.
template <class T>
[[gnu::always_inline]] inline void pack(unsigned set, const Row<T>& row, T* p, [[maybe_unused]] bool enough) {
  if (set == 255) return row.put(p);
#if defined(__AVX512VL__)
  if (enough) {
    Row<T> packed;
    const auto some = static_cast<__mmask8>(set);
    if constexpr (sizeof(T) == 8) packed.part[0] = _mm512_maskz_compress_pd(some, row.part[0]);
    else packed.part[0] = _mm256_maskz_compress_ps(some, row.part[0]);
    return packed.put(p);
  }
#endif
  T values[8];
  row.put(values);
  for (; set != 0; set &= set - 1) *p++ = values[std::countr_zero(set)];
}

// `count` values in the type V: those that are stored in another one are widened to `room`. There are as many as a
// vector holds, or more.
template <class V, class U>
const V* widened(const U* values, int count, V* room) {
  if constexpr (std::is_same_v<U, V>) {
    return values;
  } else {
    constexpr int lanes = Row<V>::lanes;
    for (int k = 0; k < count; k += lanes) {
      const int at = std::min(k, count - lanes);
      store(room + at, load_as<V, lanes>(values + at));
    }
    return room;
  }
}

// Whether eight values are 0; what is no number is not.
template <class T>
[[gnu::always_inline]] inline bool is_nothing(const Row<T>& row) {
  T all = 0;
  for (int n = 0; n < Row<T>::parts; ++n) {
    for (int l = 0; l < Row<T>::lanes; ++l) all += row.part[n][l];
  }
  return all == 0;
}

// Of numbers that are a multiple of eight.
template <class T>
bool all_finite(const T* values, std::size_t count) {
  using R = Row<Real<T>>;
  const auto* const parts = reinterpret_cast<const Real<T>*>(values);
  R none;
  for (std::size_t k = 0; k < count * sizeof(T) / sizeof(Real<T>); k += 8) {
    const R some = R::at(parts + k);
    for (int n = 0; n < R::parts; ++n) none.part[n] += some.part[n] * 0;
  }
  return is_nothing(none);
}

}  // namespace diagsparse::DIAGSPARSE_ISA
