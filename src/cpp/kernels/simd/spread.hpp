// Vectors for eight consecutive positions, some of which are stored: their values are contiguous in memory.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

template <class T>
constexpr bool kReal = std::is_same_v<T, double> || std::is_same_v<T, float>;

// Eight values, in as many vectors as needed.
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
  static Row filled(T value) {
    Row row;
    for (int n = 0; n < parts; ++n) row.part[n] = value - Vec{};
    return row;
  }
  void put(T* p) const {
    for (int n = 0; n < parts; ++n) store(p + n * lanes, part[n]);
  }
};

// spread(set, p, in_bounds): expands the contiguous values at p to the positions whose bits are set (position 0 is the
// lowest bit); other positions get 0. `in_bounds`: eight values may be read from p.
#if defined(__AVX2__)
constexpr bool kSpreads = true;  // without a loop

// The index of the value for each position; 7 for an empty one.
struct Lanes {
  std::uint8_t row[256][8] = {};
  constexpr Lanes() {
    for (unsigned set = 0; set < 256; ++set) {
      for (int position = 0, lane = 0; position < 8; ++position) row[set][position] = set >> position & 1 ? lane++ : 7;
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
// Faster than the expand instruction.
inline Row<double> spread(unsigned set, const double* p, bool in_bounds) {
  const auto first = static_cast<__mmask8>((1u << std::popcount(set)) - 1);
  const __m512i lanes = _mm512_maskz_cvtepu8_epi64(0xff, lanes_of(set));  // GCC warns about the unmasked intrinsic
  const __m512d some = in_bounds ? _mm512_loadu_pd(p) : _mm512_maskz_loadu_pd(first, p);
  return {{_mm512_maskz_permutexvar_pd(static_cast<__mmask8>(set), lanes, some)}};
}
inline Row<float> spread(unsigned set, const float* p, bool in_bounds) {
  const auto first = static_cast<__mmask8>((1u << std::popcount(set)) - 1);
  const __m256 some = in_bounds ? _mm256_loadu_ps(p) : _mm256_maskz_loadu_ps(first, p);
  return {{_mm256_maskz_permutexvar_ps(static_cast<__mmask8>(set), _mm256_cvtepu8_epi32(lanes_of(set)), some)}};
}
#elif defined(__AVX2__)
// Loads only as many lanes as there are values and sets the others to 0; then selects a lane for each position, the
// last one (0) for empty positions. Tables by the number of values and by the set of positions.
struct SpreadTables {
  alignas(32) std::int32_t first[9][8] = {};  // masks of 32-bit lanes
  alignas(32) std::int32_t half[16][8] = {};  // 32-bit lanes for four positions of 64 bits
  constexpr SpreadTables() {
    for (int n = 0; n <= 8; ++n) {
      for (int l = 0; l < n; ++l) first[n][l] = -1;
    }
    for (unsigned set = 0; set < 16; ++set) {
      for (int position = 0, lane = 0; position < 4; ++position) {
        const int from = set >> position & 1 ? lane++ : 3;
        half[set][2 * position] = 2 * from, half[set][2 * position + 1] = 2 * from + 1;
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
  T positions[8] = {};
  for (; set != 0; set &= set - 1) positions[std::countr_zero(set)] = *p++;
  return Row<T>::at(positions);
}
#endif

// select(set, row): the values at the positions in the set, 0 at others.
#if defined(__AVX512VL__)
inline Row<double> select(unsigned set, const Row<double>& row) {
  return {{_mm512_maskz_mov_pd(static_cast<__mmask8>(set), row.part[0])}};
}
inline Row<float> select(unsigned set, const Row<float>& row) {
  return {{_mm256_maskz_mov_ps(static_cast<__mmask8>(set), row.part[0])}};
}
#elif defined(__AVX2__)
inline Row<double> select(unsigned set, const Row<double>& row) {
  Row<double> result;
  for (int n = 0; n < 2; ++n) {
    const __m256i bits = _mm256_slli_epi64(_mm256_set_epi64x(8, 4, 2, 1), 4 * n);
    const __m256i inside = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(set), bits), bits);
    result.part[n] = _mm256_and_pd(row.part[n], _mm256_castsi256_pd(inside));
  }
  return result;
}
inline Row<float> select(unsigned set, const Row<float>& row) {
  const __m256i bits = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
  const __m256i inside = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(set)), bits), bits);
  return {{_mm256_and_ps(row.part[0], _mm256_castsi256_ps(inside))}};
}
#else
template <class T>
Row<T> select(unsigned set, const Row<T>& row) {
  T values[8];
  row.put(values);
  for (int i = 0; i < 8; ++i) values[i] = set >> i & 1 ? values[i] : 0;
  return Row<T>::at(values);
}
#endif

// choose(set, one, other): the values of `one` at the positions in the set, those of `other` elsewhere.
template <class T>
Row<T> choose(unsigned set, const Row<T>& one, const Row<T>& other) {
  const Row<T> left = select(set, one), right = select(~set & 255, other);
  Row<T> result;
  for (int n = 0; n < Row<T>::parts; ++n) result.part[n] = left.part[n] + right.part[n];
  return result;
}

// The inverse of spread: stores the values at the positions in the set contiguously at p. `in_bounds`: eight values may
// be written from p on, including arbitrary ones after the last.
template <class T>
[[gnu::always_inline]] inline void pack(unsigned set, const Row<T>& row, T* p, [[maybe_unused]] bool in_bounds) {
  if (set == 255) return row.put(p);
#if defined(__AVX512VL__)
  if (in_bounds) {
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

// `count` values as type V, converted in `buffer` if they are stored as another type. `count` must be at least the
// number of lanes of a vector.
template <class V, class U>
const V* widened(const U* values, int count, V* buffer) {
  if constexpr (std::is_same_v<U, V>) {
    return values;
  } else {
    constexpr int lanes = Row<V>::lanes;
    for (int k = 0; k < count; k += lanes) {
      const int at = std::min(k, count - lanes);
      store(buffer + at, load_as<V, lanes>(values + at));
    }
    return buffer;
  }
}

// Whether eight values are all 0; false if any is NaN.
template <class T>
[[gnu::always_inline]] inline bool all_zero(const Row<T>& row) {
  T all = 0;
  for (int n = 0; n < Row<T>::parts; ++n) {
    for (int l = 0; l < Row<T>::lanes; ++l) all += row.part[n][l];
  }
  return all == 0;
}

// Whether all values are finite; the number of real values must be a multiple of eight.
template <class T>
bool all_finite(const T* values, std::size_t count) {
  using R = Row<Real<T>>;
  const auto* const parts = reinterpret_cast<const Real<T>*>(values);
  R none;
  for (std::size_t k = 0; k < count * sizeof(T) / sizeof(Real<T>); k += 8) {
    const R some = R::at(parts + k);
    for (int n = 0; n < R::parts; ++n) none.part[n] += some.part[n] * 0;
  }
  return all_zero(none);
}

}  // namespace diagsparse::DIAGSPARSE_ISA
