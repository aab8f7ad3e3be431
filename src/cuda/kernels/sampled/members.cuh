// The members of a batch, in as many launches as they need.
#pragma once

#include "device/launch.cuh"

namespace diagsparse::cuda::sampled {

// Distances between successive members of X, Y and C, which of them a launch computes, and how many blocks of rows a
// member has.
struct Members {
  int64 count = 1, x = 0, y = 0, c = 0, first = 0;
  unsigned tiles = 1;
};

// Calls f(members, blocks) for as many members at a time as fit into a launch, whose blocks have `height` rows.
template <class F>
void by_launches(Members members, int64 rows, int64 height, const F& f) {
  members.tiles = static_cast<unsigned>(ceil_div(rows, height));
  const int64 count = members.count, most = std::max<int64>(1, int64{0x7fffffff} / members.tiles);
  for (; members.first < count; members.first += most) {
    members.count = std::min(most, count - members.first);
    f(members, static_cast<unsigned>(members.count * members.tiles));
  }
}

}  // namespace diagsparse::cuda::sampled
