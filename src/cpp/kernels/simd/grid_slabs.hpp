// Sums over the neighbours of all points of a grid, slab by slab.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/grid.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

using multigrid::Grid, multigrid::Step;

// Three consecutive slabs, with zeros, or copies of the opposite points of periodic axes, around them. A fourth one
// takes the place of the first.
template <class T>
class Ring {
 public:
  explicit Ring(const Grid& grid)
      : grid_(grid),
        pitch_(grid.size[2] + 2),
        pad_(grid.size[1] > 1 ? 1 : 0),
        slab_((grid.size[1] + 2 * pad_) * pitch_),
        values_(3 * slab_) {}
  // A line of slab t, which may be any integer; x = -1 and x = nx are neighbours.
  T* line(int64 t, int64 y) { return values_.data() + (t % 3 + 3) % 3 * slab_ + (y + pad_) * pitch_ + 1; }
  void clear(int64 t) { std::fill_n(line(t, -pad_) - 1, slab_, T(0)); }
  // Copies the opposite points of periodic axes, after the lines of a slab are complete.
  void close(int64 t) {
    const int64 ny = grid_.size[1], nx = grid_.size[2];
    if (grid_.periodic[2]) {
      for (int64 y = 0; y < ny; ++y) {
        T* to = line(t, y);
        to[-1] = to[nx - 1];
        to[nx] = to[0];
      }
    }
    if (grid_.periodic[1] && pad_) {
      std::copy_n(line(t, ny - 1) - 1, pitch_, line(t, -1) - 1);
      std::copy_n(line(t, 0) - 1, pitch_, line(t, ny) - 1);
    }
  }

 private:
  const Grid& grid_;
  int64 pitch_, pad_, slab_;
  std::vector<T> values_;
};

// The rows of a line: pointers to the coefficients, and to the values that they multiply in a ring.
template <class T>
class Rows {
 public:
  Rows(const Grid& grid, const T* coefficients) : grid_(grid), coefficients_(coefficients), center_(grid.center()) {}

  void at(Ring<T>& ring, int64 t, int64 slab, int64 y) {  // slab t of the ring is slab `slab` of the grid
    const int64 first = (slab * grid_.size[1] + y) * grid_.size[2], n = grid_.points();
    count_ = grid_.steps.size();
    for (int s = 0; s < count_; ++s) {
      const Step& o = grid_.steps[s];
      a_[s] = coefficients_ + s * n + first;
      v_[s] = ring.line(t + o[0], y + o[1]) + o[2];
    }
  }

  // Calls put(x, sums, diagonals) with vectors of them, or numbers, for all points of the line.
  template <class Put>
  void for_sums(const Put& put) const {
    constexpr int lanes = kVectorBytes / static_cast<int>(sizeof(T));
    using Vec = Vector<T, lanes>;
    const int64 nx = grid_.size[2];
    int64 x = 0;
    for (; x + lanes <= nx; x += lanes) {
      Vec sum = {};
      for (int s = 0; s < count_; ++s) sum = fused(load<T, lanes>(a_[s] + x), load<T, lanes>(v_[s] + x), sum);
      put(x, sum, load<T, lanes>(a_[center_] + x));
    }
    for (; x < nx; ++x) {
      T sum = 0;
      for (int s = 0; s < count_; ++s) sum = fused(a_[s][x], v_[s][x], sum);
      put(x, sum, a_[center_][x]);
    }
  }

 private:
  const Grid& grid_;
  const T* coefficients_;
  const T *a_[27], *v_[27];
  int center_, count_ = 0;
};

// A vector of type V, or a number if V is one, from and to memory.
template <class V, class T>
V same_from(const T* p) {
  if constexpr (std::is_same_v<V, T>) return *p;
  else return load<T, sizeof(V) / sizeof(T)>(p);
}
template <class V, class T>
void put_at(T* p, const V& v) {
  if constexpr (std::is_same_v<V, T>) *p = v;
  else store(p, v);
}

// v / d, or zero where the row is empty.
template <class T, class V>
V divided(const V& v, const V& d) {
  if constexpr (std::is_same_v<V, T>) return d != 0 ? v / d : 0;
  else return d != 0 ? v / d : V{};
}

}  // namespace diagsparse::DIAGSPARSE_ISA
