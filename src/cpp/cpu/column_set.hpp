// The columns of a row that is being found.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace diagsparse {

// A set of columns that gives them back in order: a bit for each column, and one for each word of these bits that is
// not 0.
//
//     columns 3 5 64 200      bits   ...101000 | ...1 | 0 | ...100000000      words 0 to 3
//                             words  ...1011
class ColumnSet {
 public:
  explicit ColumnSet(int64 cols) : bits_(cols / 64 + 1), words_(cols / 4096 + 1), touched_(words_.size() + 1) {}
  int64 nbytes() const { return static_cast<int64>(8 * (bits_.size() + words_.size()) + 4 * touched_.size()); }

  // `count` of them, at least one.
  void insert(const std::int32_t* columns, int64 count) {
    auto word = static_cast<std::uint32_t>(columns[0]) / 64;
    std::uint64_t found = 0;  // neighbours come to their word at once
    for (int64 e = 0; e < count; ++e) {
      const auto column = static_cast<std::uint32_t>(columns[e]);
      if (column / 64 != word) {
        add(word, found);
        word = column / 64, found = 0;
      }
      found |= std::uint64_t{1} << column % 64;
    }
    add(word, found);
    inserted_ += count;
  }

  // All columns from `first` up to `last`, at least one.
  void insert_run(int64 first, int64 last) {
    for (int64 word = first / 64; word <= (last - 1) / 64; ++word) {
      const int64 begin = std::max(first - 64 * word, int64{0}), end = std::min(last - 64 * word, int64{64});
      add(static_cast<std::uint32_t>(word), (~std::uint64_t{0} >> (64 - (end - begin))) << begin);
    }
    inserted_ += last - first;
  }

  // Appends the columns, ascending, and leaves the set empty.
  void move_to(std::vector<std::int32_t>& columns) {
    if (inserted_ == 0) return;
    const std::size_t before = columns.size();
    columns.resize(before + std::min(inserted_, 4096 * count_));
    std::int32_t* to = columns.data() + before;
    const auto first = touched_.begin(), last = first + count_;
    const auto [low, high] = std::minmax_element(first, last);
    if (*high - *low < kScan * count_) {
      for (std::uint32_t at = *low, end = *high; at <= end; ++at) to = take(at, to);
    } else {
      std::sort(first, last);
      for (auto at = first; at < last; ++at) to = take(*at, to);
    }
    columns.resize(to - columns.data());
    inserted_ = count_ = 0;
  }

 private:
  static constexpr std::uint32_t kScan = 16;  // words that are looked at in the time that it takes to sort one

  void add(std::uint32_t word, std::uint64_t found) {
    bits_[word] |= found;
    std::uint64_t& of = words_[word / 64];
    touched_[count_] = word / 64;
    count_ += of == 0;
    of |= std::uint64_t{1} << word % 64;
  }

  std::int32_t* take(std::uint32_t at, std::int32_t* to) {
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
  std::vector<std::uint32_t> touched_;  // where words_ is not 0, and one place more
  int64 count_ = 0, inserted_ = 0;      // of touched_; of columns, some more than once
};

}  // namespace diagsparse
