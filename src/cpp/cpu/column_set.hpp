// The set of columns of a row whose structure is being computed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace diagsparse {

// A set of columns that can be read in ascending order: a bitmap of the columns, and a bitmap of its nonzero words.
//
//     columns 3 5 64 200      bits   ...101000 | ...1 | 0 | ...100000000      words 0 to 3
//                             words  ...1011
class ColumnSet {
 public:
  explicit ColumnSet(int64 cols) : bits_(cols / 64 + 1), words_(cols / 4096 + 1), touched_(words_.size() + 1) {}
  int64 nbytes() const { return static_cast<int64>(8 * (bits_.size() + words_.size()) + 4 * touched_.size()); }

  // Inserts `count` >= 1 columns.
  void insert(const std::int32_t* columns, int64 count) {
    auto word = static_cast<std::uint32_t>(columns[0]) / 64;
    std::uint64_t mask = 0;  // neighbouring columns are added to a word together
    for (int64 e = 0; e < count; ++e) {
      const auto column = static_cast<std::uint32_t>(columns[e]);
      if (column / 64 != word) {
        add(word, mask);
        word = column / 64, mask = 0;
      }
      mask |= std::uint64_t{1} << column % 64;
    }
    add(word, mask);
    inserted_ += count;
  }

  // Inserts the columns from `first` to `last` - 1, at least one.
  void insert_run(int64 first, int64 last) {
    for (int64 word = first / 64; word <= (last - 1) / 64; ++word) {
      const int64 begin = std::max(first - 64 * word, int64{0}), end = std::min(last - 64 * word, int64{64});
      add(static_cast<std::uint32_t>(word), (~std::uint64_t{0} >> (64 - (end - begin))) << begin);
    }
    inserted_ += last - first;
  }

  // Appends the columns in ascending order and empties the set.
  void move_to(std::vector<std::int32_t>& columns) {
    if (inserted_ == 0) return;
    const std::size_t before = columns.size();
    columns.resize(before + std::min(inserted_, 4096 * count_));
    std::int32_t* to = columns.data() + before;
    const auto first = touched_.begin(), last = first + count_;
    const auto [low, high] = std::minmax_element(first, last);
    if (*high - *low < kScan * count_) {
      for (std::uint32_t at = *low, end = *high; at <= end; ++at) to = append(at, to);
    } else {
      std::sort(first, last);
      for (auto at = first; at < last; ++at) to = append(*at, to);
    }
    columns.resize(to - columns.data());
    inserted_ = count_ = 0;
  }

 private:
  static constexpr std::uint32_t kScan = 16;  // scanning this many words takes as long as sorting one

  void add(std::uint32_t word, std::uint64_t mask) {
    bits_[word] |= mask;
    std::uint64_t& of = words_[word / 64];
    touched_[count_] = word / 64;
    count_ += of == 0;
    of |= std::uint64_t{1} << word % 64;
  }

  std::int32_t* append(std::uint32_t at, std::int32_t* to) {
    for (std::uint64_t words = words_[at]; words != 0; words &= words - 1) {
      const std::uint32_t word = at * 64 + std::countr_zero(words);
      for (std::uint64_t left = bits_[word]; left != 0; left &= left - 1) {
        *to++ = static_cast<std::int32_t>(word * 64 + std::countr_zero(left));
      }
      bits_[word] = 0;
    }
    words_[at] = 0;
    return to;
  }

  std::vector<std::uint64_t> bits_, words_;
  std::vector<std::uint32_t> touched_;  // indices of nonzero elements of words_, and one spare element
  int64 count_ = 0, inserted_ = 0;      // length of touched_; number of inserted columns, with repetitions
};

}  // namespace diagsparse
