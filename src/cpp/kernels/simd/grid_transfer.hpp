// Interpolation and restriction between a grid and the next one of multigrid, line by line.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/grid.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

using multigrid::Grid, multigrid::Step, multigrid::Steps;

// Interpolation between a grid and the next one, line by line.
template <class T>
class Transfer {
 public:
  Transfer(const Grid& grid, const T* weights)
      : grid_(grid), weights_(weights), size_(grid.coarse_size()), targets_(grid.targets()) {
    even_.resize(size_[2] + 1);
    odd_.resize(size_[2] + 1);
  }

  // Takes a line of the fine grid, which `add_restricted` uses.
  void split(const T* r) {
    const int64 nx = grid_.size[2];
    T *even = even_.data(), *odd = odd_.data() + 1;
    if (!grid_.coarsened[2]) {
      std::copy_n(r, nx, even);
      return;
    }
    for (int64 x = 0; x < nx / 2; ++x) {
      even[x] = r[2 * x];
      odd[x] = r[2 * x + 1];
    }
    if (nx % 2) {
      even[nx / 2] = r[nx - 1];
      odd[nx / 2] = 0;
    }
    odd[-1] = grid_.periodic[2] && nx % 2 == 0 ? r[nx - 1] : T(0);
  }

  // coarse += P^T r for the line r = (slab, y), and for the coarse slab from which step tz leads to it.
  void add_restricted(int64 y, int64 coarse_slab, int tz, T* coarse) {
    for (int ty = -1; ty <= 1; ++ty) {
      const int64 j = grid_.coarse(1, y, ty);
      if (j < 0) continue;
      const int64 line = (coarse_slab * size_[1] + j) * size_[2], n = size_[2];
      T* to = coarse + line;
      const T *w0 = weights({tz, ty, 0}, line), *w1 = weights({tz, ty, 1}, line), *w2 = weights({tz, ty, -1}, line);
      const T *even = even_.data(), *odd = odd_.data() + 1;
      if (w0) {
        for (int64 x = 0; x < n; ++x) to[x] = fused(w0[x], even[x], to[x]);
      } else {
        for (int64 x = 0; x < n; ++x) to[x] += even[x];
      }
      if (w1) {
        for (int64 x = 0; x < n; ++x) to[x] = fused(w1[x], odd[x], to[x]);
        for (int64 x = 0; x < n; ++x) to[x] = fused(w2[x], odd[x - 1], to[x]);
      }
    }
  }

  // u += P e of the fine line (slab, y), for the coarse slab from which step tz leads to it.
  void add_interpolated(T* u, int64 y, int64 coarse_slab, int tz, const T* e) {
    const int64 n = size_[2], nx = grid_.size[2];
    T *even = even_.data(), *odd = odd_.data() + 1;
    std::fill_n(even, n, T(0));
    std::fill_n(odd, n, T(0));
    for (int ty = -1; ty <= 1; ++ty) {
      const int64 j = grid_.coarse(1, y, ty);
      if (j < 0) continue;
      const int64 line = (coarse_slab * size_[1] + j) * size_[2];
      const T* from = e + line;
      const T *w0 = weights({tz, ty, 0}, line), *w1 = weights({tz, ty, 1}, line), *w2 = weights({tz, ty, -1}, line);
      if (w0) {
        for (int64 x = 0; x < n; ++x) even[x] = fused(w0[x], from[x], even[x]);
      } else {
        for (int64 x = 0; x < n; ++x) even[x] += from[x];
      }
      if (w1) {
        for (int64 x = 0; x < n; ++x) odd[x] = fused(w1[x], from[x], odd[x]);
        for (int64 x = 1; x < n; ++x) odd[x - 1] = fused(w2[x], from[x], odd[x - 1]);
        if (grid_.periodic[2] && nx % 2 == 0) odd[n - 1] = fused(w2[0], from[0], odd[n - 1]);
      }
    }
    if (!grid_.coarsened[2]) {
      for (int64 x = 0; x < nx; ++x) u[x] += even[x];
    } else {
      for (int64 x = 0; x < nx / 2; ++x) {
        u[2 * x] += even[x];
        u[2 * x + 1] += odd[x];
      }
      if (nx % 2) u[nx - 1] += even[n - 1];
    }
  }

 private:
  // The line of the weights of a step, nullptr for the center, whose weight is 1.
  const T* weights(const Step& t, int64 line) const {
    const int k = targets_.position(t);
    return k < 0 ? nullptr : weights_ + k * grid_.coarse_points() + line;
  }
  const Grid& grid_;
  const T* weights_;
  std::array<int64, 3> size_;
  Steps targets_;
  std::vector<T> even_, odd_;  // the second one begins with the point before the first one
};

}  // namespace diagsparse::DIAGSPARSE_ISA
