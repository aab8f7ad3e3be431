// Sampled products of diagonals: the lists that the kernels share.
#pragma once

#include <tuple>
#include <vector>

#include "core/sampled.hpp"
#include "device/dense.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"

namespace diagsparse::cuda::sampled {

// Element i of the diagonal is values[base + i], for rows first <= i < last.
struct Diagonal {
  int64 base, offset, first, last;
};

// Consecutive diagonals of a list.
struct Group {
  int first, count;
};

constexpr int kRange = 32;  // the offsets of a near group are in a range of this size
constexpr int kFew = 4;     // diagonals of a far group at most; near groups have more

// The diagonals with elements: near groups of neighbours first, then the remaining ones, in far groups.
struct ResidentDiagonals {
  Array diagonals, groups;
  int count, near_count, far_count;

  explicit ResidentDiagonals(const Layout& layout) {
    std::vector<Diagonal> all, remaining;
    std::vector<Group> grouped;
    const auto& spans = layout.spans;  // by ascending offset
    for (std::size_t begin = 0, end; begin < spans.size(); begin = end) {
      for (end = begin; end < spans.size() && spans[end].offset - spans[begin].offset < kRange;) ++end;
      std::vector<Diagonal> some;
      for (std::size_t k = begin; k < end; ++k) {
        const Span& s = spans[k];
        if (s.length > 0) some.push_back({s.start - s.row, s.offset, s.row, s.row + s.length});
      }
      const bool near = some.size() > kFew;
      if (near) grouped.push_back({static_cast<int>(all.size()), static_cast<int>(some.size())});
      auto& to = near ? all : remaining;
      to.insert(to.end(), some.begin(), some.end());
    }
    near_count = static_cast<int>(grouped.size());
    for (std::size_t k = 0; k < remaining.size(); k += kFew) {
      const auto some = static_cast<int>(std::min<std::size_t>(kFew, remaining.size() - k));
      grouped.push_back({static_cast<int>(all.size() + k), some});
    }
    far_count = static_cast<int>(grouped.size()) - near_count;
    all.insert(all.end(), remaining.begin(), remaining.end());
    count = static_cast<int>(all.size());
    diagonals = upload(all);
    groups = upload(grouped);
  }
  const Diagonal* begin() const { return diagonals.as<const Diagonal>(); }
  const Group* near_groups() const { return groups.as<const Group>(); }
  const Group* far_groups() const { return near_groups() + near_count; }

  auto arrays() const { return std::tie(diagonals, groups); }
};

// Distances between successive members of X, Y and C, and how many blocks of rows a member has.
struct Members {
  int64 count = 1, x = 0, y = 0, c = 0;
  unsigned tiles = 1;
};

}  // namespace diagsparse::cuda::sampled
