// The period of some consecutive rows, by hashes of their values.
#include "cpu/row_period.hpp"

#include <bit>
#include <vector>

#include "core/hash.hpp"
#include "core/repeats.hpp"

namespace diagsparse {

namespace {

template <class T>
std::uint64_t hash_of(T value, std::uint64_t seed) {
  if constexpr (is_complex<T>) return hash_of(value.im, hash_of(value.re, seed));
  else return mixed(seed ^ std::bit_cast<std::uint64_t>(static_cast<double>(value == 0 ? T{} : value)));
}

}  // namespace

int64 period_of_rows(int64 first, int64 cols, std::span<const std::int32_t> lengths,
                     std::span<const std::int32_t> columns, const Array& values) {
  const auto rows = static_cast<int64>(lengths.size());
  std::vector<std::uint64_t> hashes(rows, 0);
  with_value_type(values.dtype, [&]<class T>(T) {
    const T* const value = values.as<const T>();
    std::size_t e = 0;
    for (int64 r = 0; r < rows; ++r) {
      for (const std::size_t end = e + static_cast<std::size_t>(lengths[r]); e < end; ++e) {
        const int64 offset = columns[e] - (first + r);
        if (first + offset < 0 || first + rows + offset > cols || is_zero(value[e])) continue;
        hashes[r] += hash_of(value[e], mixed(static_cast<std::uint64_t>(offset)));
      }
    }
  });
  const int64 period = shortest_period(rows, [&](int64 i, int64 j) { return hashes[i] == hashes[j]; });
  return 2 * period <= rows ? period : 0;
}

}  // namespace diagsparse
