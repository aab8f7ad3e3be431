// Hash functions for integers.
#pragma once

#include <cstdint>

namespace diagsparse {

constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15u;  // odd, 2^64 / golden ratio: its multiples are spread evenly

// The finalizer of SplitMix64, a bijection.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace diagsparse
