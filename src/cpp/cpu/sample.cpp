// What lies in windows of rows.
#include "cpu/sample.hpp"

#include <algorithm>
#include <bit>

namespace diagsparse {

namespace {

constexpr int64 kBlock = 8, kMaskRows = 32, kVector = 8;

// How often each of some pairs of numbers occurs, the second one below 2^32 in size: a hash table.
class Tally {
 public:
  explicit Tally(std::size_t most) : slots_(std::bit_ceil(most + most / 2 + 2)) {}

  void add(int64 one, int64 other) {
    const std::size_t mask = slots_.size() - 1;
    const auto key = static_cast<std::uint64_t>(one) << 33 ^ static_cast<std::uint64_t>(other + (int64{1} << 32));
    for (std::size_t at = (key * 0x9E3779B97F4A7C15u) >> 32 & mask;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.times != 0 && slot.key != key) continue;
      distinct_ += slot.times == 0;
      slot = {key, slot.times + 1};
      return;
    }
  }

  int64 distinct() const { return distinct_; }

  // Calls f(other, times) for each pair, in no order.
  template <class F>
  void for_each(const F& f) const {
    constexpr std::uint64_t low = (std::uint64_t{1} << 33) - 1;
    for (const Slot& slot : slots_) {
      if (slot.times > 0) f(static_cast<int64>(slot.key & low) - (int64{1} << 32), slot.times);
    }
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int64_t times = 0;
  };
  std::vector<Slot> slots_;
  int64 distinct_ = 0;
};

}  // namespace

Sample sample(std::span<const RowWindow> windows, std::span<const std::int32_t> lengths,
              std::span<const std::int32_t> columns, int64 per_line) {
  Tally diagonals(columns.size()), blocks(columns.size()), masks(columns.size()), lines(columns.size());
  Sample found;
  std::size_t row = 0, e = 0;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    for (int64 r = 0, vectors = 0; r < windows[w].rows; ++r, ++row) {
      const int64 i = windows[w].first + r, now = (lengths[row] + kVector - 1) / kVector;
      found.turns += r > 0 && now != vectors;
      vectors = now;
      for (const std::size_t end = e + static_cast<std::size_t>(lengths[row]); e < end; ++e) {
        const int64 j = columns[e];
        diagonals.add(0, j - i);
        blocks.add(i / kBlock, j / kBlock);
        masks.add(i / kMaskRows, j - i);
        lines.add(static_cast<int64>(w), j / per_line);
      }
    }
  }
  found.blocks = blocks.distinct();
  blocks.for_each([&](int64, int64 times) { found.in_full_blocks += times == kBlock * kBlock ? times : 0; });
  found.masks = masks.distinct();
  found.lines = lines.distinct();
  std::vector<std::pair<int64, int64>> met;
  diagonals.for_each([&](int64 offset, int64 times) { met.emplace_back(offset, times); });
  std::sort(met.begin(), met.end());
  for (const auto& [offset, times] : met) {
    found.offsets.push_back(offset);
    found.counts.push_back(times);
  }
  return found;
}

}  // namespace diagsparse
