// Keys (row << 32 | column) with the positions of their values: sorting, and finding equal keys. Based on CUB.
#pragma once

#include <algorithm>
#include <bit>

#include "device/launch.cuh"

namespace diagsparse::cuda {

using Key = std::uint64_t;

inline __host__ __device__ Key make_key(int64 major, int64 minor) {
  return static_cast<Key>(major) << 32 | static_cast<Key>(minor);
}

struct Keys {
  std::shared_ptr<void> keys, positions;  // Key, int64: the index of the key's value
  int64 count = 0;

  explicit Keys(int64 n) : keys(allocate(8 * n)), positions(allocate(8 * n)), count(n) {}
  Key* key() const { return static_cast<Key*>(keys.get()); }
  int64* position() const { return static_cast<int64*>(positions.get()); }
};

// The number of bits of the numbers up to n: only these bits of a key have to be sorted.
inline int width_in_bits(int64 n) { return std::max<int>(1, std::bit_width(static_cast<std::uint64_t>(n))); }

void sort(Keys& keys, int bits = 64);  // stable, by the lowest bits
// The same by all bits, within each segment: segment s begins at begin[s], the last one ends at begin[segments].
void sort_segments(Keys& keys, const std::int64_t* begin, int64 segments);
void running_sum(const std::int64_t* in, std::int64_t* out, int64 n);     // an inclusive prefix sum
int64 inclusive_sum(const std::int64_t* in, std::int64_t* out, int64 n);  // the same; waits for the last element and
                                                                          // returns it

// Sorted keys of 32 or 64 bits, and the number that belongs to each.
template <class K>
struct Sorted {
  std::shared_ptr<void> keys, numbers;

  const K* key() const { return static_cast<const K*>(keys.get()); }
  const std::uint32_t* number() const { return static_cast<const std::uint32_t*>(numbers.get()); }
};
template <class K>
Sorted<K> sorted_by(const K* keys, const std::uint32_t* numbers, int64 count, int bits);
void sort_keys(std::shared_ptr<void>& keys, int64 count, int bits);  // only keys, by the lowest bits

}  // namespace diagsparse::cuda
