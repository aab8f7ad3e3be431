// Processes many runs of elements in one launch: blockIdx.y is the index of the run, and the list is an argument.
#pragma once

#include "device/launch.cuh"

namespace diagsparse::cuda {

// T: a description of a run, with its `length`.
template <class T>
struct Runs {
  static constexpr int most = 64;
  T at[most];
};

// Calls f(grid, runs, index of the first) for as many launches as `all` needs; a thread processes about four elements.
template <class T, class F>
void in_launches(const std::vector<T>& all, const F& f) {
  for (std::size_t first = 0; first < all.size(); first += Runs<T>::most) {
    const std::size_t count = std::min<std::size_t>(Runs<T>::most, all.size() - first);
    Runs<T> part = {};
    int64 longest = 1;
    for (std::size_t i = 0; i < count; ++i) {
      part.at[i] = all[first + i];
      longest = std::max(longest, part.at[i].length);
    }
    f(dim3(blocks(longest, 4).x, static_cast<unsigned>(count)), part, first);
  }
}

}  // namespace diagsparse::cuda
