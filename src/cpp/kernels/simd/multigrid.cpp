// A multigrid cycle in passes over the slabs of a grid. Each pass has several stages, one or two slabs behind each
// other, which exchange slabs through rings of padded copies: the values of a slab are read while they are in the
// caches.
//
// Tasks process ranges of slabs, and compute the slabs around these again, so the results do not depend on the number
// of tasks.
#include "cpu/multigrid.hpp"

#include <algorithm>
#include <vector>

#include "cpu/parallel.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

using namespace multigrid;

constexpr int64 kFewestSlabs = 16;  // in a task, so that those that are computed again do not matter

// A ring of slabs with zeros, or copies of the opposite points of periodic axes, around them.
template <class T>
class Ring {
 public:
  Ring(const Grid& grid, int64 slabs) : grid_(grid), slabs_(slabs) {
    pitch = grid.size[2] + 2;
    pad_ = grid.size[1] > 1 ? 1 : 0;
    slab_ = (grid.size[1] + 2 * pad_) * pitch;
    values_.resize(slabs * slab_);
  }
  // A line of slab t, which may be any integer; x = -1 and x = nx are neighbours.
  T* line(int64 t, int64 y) { return values_.data() + (t % slabs_ + slabs_) % slabs_ * slab_ + (y + pad_) * pitch + 1; }
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
      std::copy_n(line(t, ny - 1) - 1, pitch, line(t, -1) - 1);
      std::copy_n(line(t, 0) - 1, pitch, line(t, ny) - 1);
    }
  }

  int64 pitch;

 private:
  const Grid& grid_;
  int64 slabs_, pad_, slab_;
  std::vector<T> values_;
};

// The rows of a line: pointers to the coefficients, and to the values that they multiply in a ring.
template <class T>
class Rows {
 public:
  Rows(const Grid& grid, const T* coefficients) : grid_(grid), coefficients_(coefficients), center_(grid.center()) {}

  void at(Ring<T>& ring, int64 t, int64 slab, int64 y) {  // slab t of the ring is slab `slab` of the grid
    const int64 first = (slab * grid_.size[1] + y) * grid_.size[2], n = grid_.points();
    count_ = static_cast<int>(grid_.steps.size());
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
  const T* diagonal() const { return a_[center_]; }

 private:
  const Grid& grid_;
  const T* coefficients_;
  const T *a_[27], *v_[27];
  int center_, count_ = 0;
};

// A vector of the same kind as `like`, or a number, from memory.
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

// Interpolation between a grid and the next one, line by line.
template <class T>
class Transfer {
 public:
  Transfer(const Grid& grid, const T* weights) : grid_(grid), weights_(weights), size_(grid.coarse_size()) {
    const std::vector<Step> targets = grid.targets();
    position_.fill(-1);
    for (std::size_t k = 0; k < targets.size(); ++k) position_[code(targets[k])] = static_cast<int>(k);
    even_.resize(size_[2] + 1);
    odd_.resize(size_[2] + 1);
  }

  // coarse += P^T r of the fine line (slab, y), for the coarse slab reached by step tz.
  void restrict_line(const T* r, int64 y, int64 coarse_slab, int tz, T* coarse) {
    split(r);
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
    const int k = position_[code(t)];
    return k < 0 ? nullptr : weights_ + k * grid_.coarse_points() + line;
  }
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

  const Grid& grid_;
  const T* weights_;
  std::array<int64, 3> size_;
  std::array<int, 27> position_;
  std::vector<T> even_, odd_;  // the second one begins with the point before the first one
};

// Calls f(first, last) for ranges of `count` slabs.
template <class F>
void for_slabs(const Grid& grid, int64 count, int64 per_slab, const F& f) {
  const int64 tasks = std::max<int64>(1, std::min<int64>(count * per_slab / kFewestSlabs, 64));
  parallel_for(tasks, 4 * grid.points() * static_cast<int64>(grid.steps.size()),
               [&](int64 task) { f(count * task / tasks, count * (task + 1) / tasks); });
}

// The slab of the grid that a slab of a range is, or -1 if it lies outside.
int64 slab_of(const Grid& grid, int64 t) {
  const int64 n = grid.size[0];
  if (t >= 0 && t < n) return t;
  return grid.periodic[0] ? (t % n + n) % n : -1;
}

template <class T>
void descend(const Grid& grid, const T* coefficients, const T* weights, Smoother<T> smoother, const T* b, T* x,
             T* coarse) {
  const int64 ny = grid.size[1], nx = grid.size[2], plane = ny * nx, per = grid.coarsened[0] ? 2 : 1;
  const std::array<int64, 3> size = grid.coarse_size();
  const T* diagonal = coefficients + grid.center() * grid.points();
  for_slabs(grid, size[0], per, [&](int64 begin, int64 end) {
    Ring<T> scaled(grid, 4), smoothed(grid, 4);
    Rows<T> rows(grid, coefficients);
    Transfer<T> transfer(grid, weights);
    std::vector<T> r(nx);
    const int64 first = per * begin, last = std::min(per * end, grid.size[0]), halo = per - 1;
    std::fill(coarse + begin * size[1] * size[2], coarse + end * size[1] * size[2], T(0));
    for (int64 t = first - halo - 2; t < last + halo + 2; ++t) {
      // D^-1 b of slab t
      const int64 slab = slab_of(grid, t);
      if (slab < 0) scaled.clear(t);
      else {
        for (int64 y = 0; y < ny; ++y) {
          const T *from = b + slab * plane + y * nx, *d = diagonal + slab * plane + y * nx;
          T* to = scaled.line(t, y);
          for (int64 i = 0; i < nx; ++i) to[i] = divided<T>(from[i], d[i]);
        }
        scaled.close(t);
      }
      // x of the slab before
      const int64 t1 = t - 1, slab1 = slab_of(grid, t1);
      if (t1 < first - halo - 1) continue;
      if (slab1 < 0) smoothed.clear(t1);
      else {
        for (int64 y = 0; y < ny; ++y) {
          rows.at(scaled, t1, slab1, y);
          const T* s = scaled.line(t1, y);
          T* to = smoothed.line(t1, y);
          rows.for_sums([&]<class V>(int64 i, const V& sum, const V& d) {
            put_at<V, T>(to + i, smoother.a1 * same_from<V>(s + i) + smoother.a2 * divided<T>(sum, d));
          });
          if (t1 >= first && t1 < last) std::copy_n(to, nx, x + slab1 * plane + y * nx);
        }
        smoothed.close(t1);
      }
      // the residual of the slab before that, and its restriction
      const int64 t2 = t - 2, slab2 = slab_of(grid, t2);
      if (t2 < first - halo || t2 >= last + halo || slab2 < 0) continue;
      for (int64 y = 0; y < ny; ++y) {
        rows.at(smoothed, t2, slab2, y);
        const T* from = b + slab2 * plane + y * nx;
        rows.for_sums([&]<class V>(int64 i, const V& sum, const V&) {
          put_at<V, T>(r.data() + i, same_from<V>(from + i) - sum);
        });
        for (int tz = -1; tz <= 1; ++tz) {
          if ((t2 - tz) % per != 0 || (per == 1 && tz != 0)) continue;
          const int64 c = (t2 - tz) / per;  // not around the end of the axis: slabs there have two numbers
          if (c >= begin && c < end) transfer.restrict_line(r.data(), y, c, tz, coarse);
        }
      }
    }
  });
}

template <class T>
void ascend(const Grid& grid, const T* coefficients, const T* weights, Smoother<T> smoother, const T* b, const T* x,
            const T* e, T* out) {
  const int64 ny = grid.size[1], nx = grid.size[2], plane = ny * nx;
  for_slabs(grid, grid.size[0], 1, [&](int64 first, int64 last) {
    Ring<T> corrected(grid, 5), scaled(grid, 4);
    Rows<T> rows(grid, coefficients);
    Transfer<T> transfer(grid, weights);
    for (int64 t = first - 2; t < last + 2; ++t) {
      // x + P e of slab t
      const int64 slab = slab_of(grid, t);
      if (slab < 0) corrected.clear(t);
      else {
        for (int64 y = 0; y < ny; ++y) {
          T* to = corrected.line(t, y);
          std::copy_n(x + slab * plane + y * nx, nx, to);
          for (int tz = -1; tz <= 1; ++tz) {
            const int64 c = grid.coarse(0, slab, tz);
            if (c >= 0) transfer.add_interpolated(to, y, c, tz, e);
          }
        }
        corrected.close(t);
      }
      // the scaled residual of the slab before
      const int64 t1 = t - 1, slab1 = slab_of(grid, t1);
      if (t1 < first - 1) continue;
      if (slab1 < 0) scaled.clear(t1);
      else {
        for (int64 y = 0; y < ny; ++y) {
          rows.at(corrected, t1, slab1, y);
          const T* from = b + slab1 * plane + y * nx;
          T* to = scaled.line(t1, y);
          rows.for_sums([&]<class V>(int64 i, const V& sum, const V& d) {
            put_at<V, T>(to + i, divided<T>(V(same_from<V>(from + i) - sum), d));
          });
        }
        scaled.close(t1);
      }
      // the result of the slab before that
      const int64 t2 = t - 2;
      if (t2 < first || t2 >= last) continue;
      for (int64 y = 0; y < ny; ++y) {
        rows.at(scaled, t2, t2, y);
        const T *u = corrected.line(t2, y), *s = scaled.line(t2, y);
        T* to = out + t2 * plane + y * nx;
        rows.for_sums([&]<class V>(int64 i, const V& sum, const V& d) {
          put_at<V, T>(to + i,
                       same_from<V>(u + i) + smoother.a1 * same_from<V>(s + i) + smoother.a2 * divided<T>(sum, d));
        });
      }
    }
  });
}

template <class T>
void residual(const Grid& grid, const T* coefficients, const T* b, const T* x, T* r) {
  const int64 ny = grid.size[1], nx = grid.size[2], plane = ny * nx;
  for_slabs(grid, grid.size[0], 1, [&](int64 first, int64 last) {
    Ring<T> ring(grid, 4);
    Rows<T> rows(grid, coefficients);
    for (int64 t = first - 1; t < last + 1; ++t) {
      const int64 slab = slab_of(grid, t), t1 = t - 1;
      if (slab < 0) ring.clear(t);
      else {
        for (int64 y = 0; y < ny; ++y) std::copy_n(x + slab * plane + y * nx, nx, ring.line(t, y));
        ring.close(t);
      }
      if (t1 < first || t1 >= last) continue;
      for (int64 y = 0; y < ny; ++y) {
        rows.at(ring, t1, t1, y);
        const T* from = b + t1 * plane + y * nx;
        T* to = r + t1 * plane + y * nx;
        rows.for_sums(
            [&]<class V>(int64 i, const V& sum, const V&) { put_at<V, T>(to + i, same_from<V>(from + i) - sum); });
      }
    }
  });
}

const ForEachSet<Cycle<float>> of_floats(kIsa, {descend<float>, ascend<float>, residual<float>});
const ForEachSet<Cycle<double>> of_doubles(kIsa, {descend<double>, ascend<double>, residual<double>});

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
