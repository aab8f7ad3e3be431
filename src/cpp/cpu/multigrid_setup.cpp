#include <algorithm>
#include <cmath>

#include "cpu/multigrid.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse::multigrid {

namespace {

constexpr int64 kLines = 8;  // lines of the coarse grid in a task

template <class F>
void for_lines(int64 lines, int64 work, const F& f) {
  const int64 tasks = (lines + kLines - 1) / kLines;
  parallel_for(tasks, work, [&](int64 task) {
    for (int64 line = task * kLines; line < std::min(lines, (task + 1) * kLines); ++line) f(line);
  });
}

// A fine point between coarse ones, and its row.
class Between {
 public:
  Between(const Grid& grid, const double* coefficients, const double* weights, const std::array<int, 27>& target)
      : grid_(grid), coefficients_(coefficients), weights_(weights), target_(target) {}

  // The weight with which the coarse point at -t enters the value of `point`, where t is not zero on the axes on which
  // the point is between two coarse ones. Weights of points between fewer axes are known.
  double weight(const std::array<int64, 3>& point, const Step& t) const {
    const int64 row = (point[0] * grid_.size[1] + point[1]) * grid_.size[2] + point[2];
    double center = 0, sum = 0;
    for (std::size_t s = 0; s < grid_.steps.size(); ++s) {
      const Step& o = grid_.steps[s];
      bool stays = true,
           leads = true;  // on the axes of t; whether the step is towards the coarse point, on some of them
      for (int d = 0; d < 3; ++d) {
        if (t[d] == 0) continue;
        stays &= o[d] == 0;
        leads &= o[d] == 0 || o[d] == -t[d];
      }
      if (!leads) continue;
      const double a = coefficients_[static_cast<int64>(s) * grid_.points() + row];
      if (stays) center += a;
      else if (a != 0) sum += a * neighbours(point, t, o);
    }
    return center > 0 ? -sum / center : 0;
  }

 private:
  // The weight of the same coarse point for the neighbour in direction o, as far as o is along the axes of t.
  double neighbours(const std::array<int64, 3>& point, const Step& t, const Step& o) const {
    Step rest = t;
    std::array<int64, 3> coarse{};
    for (int d = 0; d < 3; ++d) {
      if (t[d] != 0 && o[d] != 0) rest[d] = 0;
      coarse[d] = grid_.coarse(d, point[d], t[d]);
      if (coarse[d] < 0) return 0;
    }
    if (rest == kCenter) return 1;
    const auto size = grid_.coarse_size();
    const int64 at = (coarse[0] * size[1] + coarse[1]) * size[2] + coarse[2];
    return weights_[target_[code(rest)] * grid_.coarse_points() + at];
  }

  const Grid& grid_;
  const double *coefficients_, *weights_;
  const std::array<int, 27>& target_;
};

// On one axis: the fine point at step t from a coarse one, and the coarse point from which step u leads to the
// neighbour of this fine point in direction o, with the step between the two coarse points.
struct Pair {
  int64 fine, coarse;
  int step;
};

// The pairs of all coarse points on an axis, for each t, o and u. Those of an axis of x are empty if there are none.
class Pairs {
 public:
  Pairs(const Grid& grid, int axis) : axis_(axis) {
    const int64 size = grid.coarse_size()[axis];
    for (int t = -1; t <= 1; ++t) {
      for (int o = -1; o <= 1; ++o) {
        for (int u = -1; u <= 1; ++u) {
          std::vector<Pair>& pairs = all_[(t + 1) * 9 + (o + 1) * 3 + u + 1];
          bool any = false;
          for (int64 at = 0; at < size; ++at) {
            Pair pair{grid.fine(axis, at, t), -1, 0};
            if (pair.fine >= 0) {
              const int64 to = grid.neighbour(axis, pair.fine, o);
              pair.coarse = to < 0 ? -1 : grid.coarse(axis, to, u);
            }
            if (pair.coarse >= 0) {
              const int64 step = pair.coarse - at;
              pair.step = static_cast<int>(step > 1 ? step - size : step < -1 ? step + size : step);
              any = true;
            }
            pairs.push_back(pair);
          }
          if (axis == 2 && !any) pairs.clear();
        }
      }
    }
  }
  const std::vector<Pair>& at(const Step& t, const Step& o, const Step& u) const {
    return all_[(t[axis_] + 1) * 9 + (o[axis_] + 1) * 3 + u[axis_] + 1];
  }

 private:
  int axis_;
  std::array<std::vector<Pair>, 27> all_;
};

std::array<int, 27> positions(const std::vector<Step>& steps) {
  std::array<int, 27> at;
  at.fill(-1);
  for (std::size_t s = 0; s < steps.size(); ++s) at[code(steps[s])] = static_cast<int>(s);
  return at;
}

// Calls f(first, last) for ranges of points that do not depend on the number of threads.
template <class F>
void for_points(const Grid& grid, const F& f) {
  constexpr int64 range = 1 << 14;
  const int64 n = grid.points(), tasks = (n + range - 1) / range;
  parallel_for(tasks, 4 * n * static_cast<int64>(grid.steps.size()),
               [&](int64 task) { f(task, task * range, std::min(n, (task + 1) * range)); });
}

}  // namespace

Statistics statistics(const Grid& grid, const double* coefficients) {
  const int64 n = grid.points();
  const std::size_t count = grid.steps.size();
  std::vector<Statistics> parts((n + (1 << 14) - 1) >> 14);
  const double* center = coefficients + grid.center() * n;
  for_points(grid, [&](int64 task, int64 first, int64 last) {
    std::vector<double> sums(last - first), absolutes(last - first);
    Statistics part{0, 0, 0, 0, std::vector<double>(count)};
    for (std::size_t s = 0; s < count; ++s) {
      const double* a = coefficients + static_cast<int64>(s) * n + first;
      double coupling = 0, largest = part.largest;
      for (int64 i = 0; i < last - first; ++i) {
        const double size = std::abs(a[i]);
        sums[i] += a[i];
        absolutes[i] += size;
        coupling += size;
        largest = std::max(largest, size);
      }
      part.coupling[s] = coupling;
      part.largest = largest;
    }
    for (int64 i = 0; i < last - first; ++i) {
      const double d = std::abs(center[first + i]);
      part.row_sum = std::max(part.row_sum, std::abs(sums[i]));
      part.norm = std::max(part.norm, absolutes[i]);
      if (d > 0) part.bound = std::max(part.bound, absolutes[i] / d);
    }
    parts[task] = std::move(part);
  });
  Statistics all{0, 0, 0, 0, std::vector<double>(count)};
  for (const Statistics& part : parts) {
    all.largest = std::max(all.largest, part.largest);
    all.row_sum = std::max(all.row_sum, part.row_sum);
    all.norm = std::max(all.norm, part.norm);
    all.bound = std::max(all.bound, part.bound);
    for (std::size_t s = 0; s < count; ++s) all.coupling[s] += part.coupling[s];
  }
  return all;
}

template <class T>
void rounded(const Grid& grid, const double* coefficients, T* result) {
  const int64 n = grid.points();
  const int center = grid.center();
  for_points(grid, [&](int64, int64 first, int64 last) {
    std::vector<double> others(last - first);
    for (std::size_t s = 0; s < grid.steps.size(); ++s) {
      const double* a = coefficients + static_cast<int64>(s) * n + first;
      T* to = result + static_cast<int64>(s) * n + first;
      if (static_cast<int>(s) == center) continue;
      for (int64 i = 0; i < last - first; ++i) {
        to[i] = static_cast<T>(a[i]);
        others[i] += a[i] - static_cast<double>(to[i]);  // what is lost
      }
    }
    const double* a = coefficients + center * n + first;
    T* to = result + center * n + first;
    for (int64 i = 0; i < last - first; ++i) to[i] = static_cast<T>(a[i] + others[i]);
  });
}
template void rounded(const Grid&, const double*, float*);
template void rounded(const Grid&, const double*, double*);

void interpolation(const Grid& grid, const double* coefficients, double* weights) {
  const std::vector<Step> targets = grid.targets();
  const std::array<int, 27> position = positions(targets);
  const auto size = grid.coarse_size();
  const int64 count = grid.coarse_points();
  const Between between(grid, coefficients, weights, position);
  for (int axes = 1; axes <= 3; ++axes) {  // on which a point is between coarse ones
    for_lines(size[0] * size[1], axes * 20 * count, [&](int64 line) {
      const int64 z = line / size[1], y = line % size[1];
      for (std::size_t k = 0; k < targets.size(); ++k) {
        const Step& t = targets[k];
        if ((t[0] != 0) + (t[1] != 0) + (t[2] != 0) != axes) continue;
        double* w = weights + static_cast<int64>(k) * count + line * size[2];
        const int64 fz = grid.fine(0, z, t[0]), fy = grid.fine(1, y, t[1]);
        for (int64 x = 0; x < size[2]; ++x) {
          const int64 fx = grid.fine(2, x, t[2]);
          w[x] = fz < 0 || fy < 0 || fx < 0 ? 0 : between.weight({fz, fy, fx}, t);
        }
      }
    });
  }
}

std::vector<bool> galerkin(const Grid& grid, const double* coefficients, const double* weights, double* coarse) {
  std::vector<Step> from = grid.targets();  // from a coarse point to a fine one, in whose row it takes part
  const std::array<int, 27> position = positions(from);
  from.insert(from.begin(), kCenter);
  const auto size = grid.coarse_size();
  const int64 count = grid.coarse_points(), n = grid.points();
  const std::vector<double> ones(size[2], 1.0);
  const Pairs pairs[] = {Pairs(grid, 0), Pairs(grid, 1), Pairs(grid, 2)};
  std::fill(coarse, coarse + 27 * count, 0.0);
  for_lines(size[0] * size[1], 400 * count, [&](int64 line) {
    const int64 z = line / size[1], y = line % size[1];
    const auto of = [&](const Step& t, int64 at) {  // a line of weights
      return t == kCenter ? ones.data() : weights + position[code(t)] * count + at * size[2];
    };
    for (const Step& t : from) {
      const int64 fz = grid.fine(0, z, t[0]), fy = grid.fine(1, y, t[1]);
      if (fz < 0 || fy < 0) continue;
      const double* w = of(t, line);
      for (std::size_t s = 0; s < grid.steps.size(); ++s) {
        const Step& o = grid.steps[s];
        const double* a = coefficients + static_cast<int64>(s) * n + (fz * grid.size[1] + fy) * grid.size[2];
        for (const Step& u : from) {
          const Pair& in_z = pairs[0].at(t, o, u)[z];
          const Pair& in_y = pairs[1].at(t, o, u)[y];
          const auto& in_x = pairs[2].at(t, o, u);
          if (in_z.coarse < 0 || in_y.coarse < 0 || in_x.empty()) continue;
          const double* v = of(u, in_z.coarse * size[1] + in_y.coarse);
          double* sums = coarse + code({in_z.step, in_y.step, 0}) * count + line * size[2];
          for (int64 x = 0; x < size[2]; ++x) {
            const Pair& pair = in_x[x];
            if (pair.coarse >= 0) sums[pair.step * count + x] += w[x] * a[pair.fine] * v[pair.coarse];
          }
        }
      }
    }
  });
  std::vector<bool> present(27);
  for (int c = 0; c < 27; ++c) {
    present[c] = std::any_of(coarse + c * count, coarse + (c + 1) * count, [](double a) { return a != 0; });
  }
  return present;
}

}  // namespace diagsparse::multigrid
