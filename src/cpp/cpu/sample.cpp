// Statistics of windows of rows.
#include "cpu/sample.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/hash.hpp"
#include "core/repeats.hpp"

namespace diagsparse {

namespace {

constexpr int64 kBlock = 8, kMaskRows = 32, kVector = 8;

// Counts how often each number occurs since the last clear, in a hash table. If it is cleared after each group of rows,
// it stays as small as the counts of one group, and in the cache.
class Tally {
 public:
  void add(std::int32_t number) {
    if (2 * (used_.size() + 1) > slots_.size()) grow();
    Slot& slot = find(number);
    if (slot.times++ == 0) used_.push_back(static_cast<std::uint32_t>(&slot - slots_.data()));
    slot.number = number;
  }

  int64 distinct() const { return static_cast<int64>(used_.size()); }

  // Calls f(number, times) for each number, in the order of first occurrence.
  template <class F>
  void for_each(const F& f) const {
    for (const std::uint32_t at : used_) f(slots_[at].number, slots_[at].times);
  }

  // Clears the table and returns the previous number of distinct numbers.
  int64 cleared() {
    const int64 result = distinct();
    for (const std::uint32_t at : used_) slots_[at].times = 0;
    used_.clear();
    return result;
  }

 private:
  struct Slot {
    std::int32_t number = 0, times = 0;
  };

  Slot& find(std::int32_t number) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (static_cast<std::uint32_t>(number) * kSpread) >> 32 & mask;
    while (slots_[at].times != 0 && slots_[at].number != number) at = (at + 1) & mask;
    return slots_[at];
  }

  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (std::uint32_t& at : used_) {
      Slot& slot = find(old[at].number);
      slot = old[at];
      at = static_cast<std::uint32_t>(&slot - slots_.data());
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(256);
  std::vector<std::uint32_t> used_;
};

}  // namespace

Sample sample(std::span<const RowWindow> windows, std::span<const std::int32_t> lengths,
              std::span<const std::int32_t> columns, int64 per_line) {
  Tally diagonals, blocks, masks, lines;
  Sample result;
  const auto close_blocks = [&] {
    blocks.for_each(
        [&](std::int32_t, std::int32_t times) { result.in_full_blocks += times == kBlock * kBlock ? times : 0; });
    result.blocks += blocks.cleared();
  };
  std::size_t row = 0, e = 0;
  for (const RowWindow& window : windows) {
    for (int64 r = 0, vectors = 0; r < window.rows; ++r, ++row) {
      const int64 i = window.first + r, now = (lengths[row] + kVector - 1) / kVector;
      result.turns += r > 0 && now != vectors;
      vectors = now;
      if (i % kBlock == 0) close_blocks();
      if (i % kMaskRows == 0) result.masks += masks.cleared();
      for (const std::size_t end = e + static_cast<std::size_t>(lengths[row]); e < end; ++e) {
        const std::int32_t j = columns[e], offset = static_cast<std::int32_t>(j - i);
        diagonals.add(offset);
        blocks.add(j / static_cast<std::int32_t>(kBlock));
        masks.add(offset);
        lines.add(j / static_cast<std::int32_t>(per_line));
      }
    }
    close_blocks();
    result.masks += masks.cleared();
    result.lines += lines.cleared();
  }
  std::vector<std::pair<int64, int64>> occurring;
  diagonals.for_each([&](std::int32_t offset, std::int32_t times) { occurring.emplace_back(offset, times); });
  std::sort(occurring.begin(), occurring.end());
  for (const auto& [offset, times] : occurring) {
    result.offsets.push_back(offset);
    result.counts.push_back(times);
  }
  return result;
}

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
