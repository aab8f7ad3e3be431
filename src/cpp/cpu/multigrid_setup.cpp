#include <algorithm>
#include <cmath>

#include "core/grid_interpolation.hpp"
#include "cpu/multigrid.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse::multigrid {

namespace {

constexpr int64 kLines = 8;         // lines of the coarse grid in a task
constexpr int64 kPoints = 1 << 14;  // points in a task

template <class F>
void for_lines(int64 lines, int64 work, const F& f) {
  const int64 tasks = (lines + kLines - 1) / kLines;
  parallel_for(tasks, work, [&](int64 task) {
    for (int64 line = task * kLines; line < std::min(lines, (task + 1) * kLines); ++line) f(line);
  });
}

// On one axis: the fine point at step t from a coarse one, and the coarse point from which step u leads to the
// neighbour of this fine point in direction o, with the step between the two coarse points.
struct Pair {
  int64 fine, coarse;
  int step;
};

// Consecutive coarse points, from `first` to `last` - 1, whose pairs are consecutive, too.
struct Run {
  int64 first, last;
  Pair pair;  // of the first one
};

// The pairs of all coarse points on an axis, for each t, o and u.
class Pairs {
 public:
  Pairs(const Grid& grid, int axis) : axis_(axis) {
    const int64 size = grid.coarse_size()[axis], apart = grid.coarsened[axis] ? 2 : 1;
    for (int t = -1; t <= 1; ++t) {
      for (int o = -1; o <= 1; ++o) {
        for (int u = -1; u <= 1; ++u) {
          std::vector<Pair>& pairs = all_[(t + 1) * 9 + (o + 1) * 3 + u + 1];
          std::vector<Run>& runs = runs_[(t + 1) * 9 + (o + 1) * 3 + u + 1];
          for (int64 at = 0; at < size; ++at) {
            Pair pair{grid.fine(axis, at, t), -1, 0};
            if (pair.fine >= 0) {
              const int64 to = grid.neighbour(axis, pair.fine, o);
              pair.coarse = to < 0 ? -1 : grid.coarse(axis, to, u);
            }
            if (pair.coarse >= 0) {
              const int64 step = pair.coarse - at;
              pair.step = static_cast<int>(step > 1 ? step - size : step < -1 ? step + size : step);
              const bool goes_on = !runs.empty() && runs.back().last == at && pairs.back().step == pair.step &&
                                   pairs.back().coarse + 1 == pair.coarse && pairs.back().fine + apart == pair.fine;
              if (goes_on) runs.back().last = at + 1;
              else runs.push_back({at, at + 1, pair});
            }
            pairs.push_back(pair);
          }
        }
      }
    }
  }
  const std::vector<Pair>& at(const Step& t, const Step& o, const Step& u) const {
    return all_[(t[axis_] + 1) * 9 + (o[axis_] + 1) * 3 + u[axis_] + 1];
  }
  const std::vector<Run>& runs(const Step& t, const Step& o, const Step& u) const {
    return runs_[(t[axis_] + 1) * 9 + (o[axis_] + 1) * 3 + u[axis_] + 1];
  }

 private:
  int axis_;
  std::array<std::vector<Pair>, 27> all_;
  std::array<std::vector<Run>, 27> runs_;
};

// sums[x] += w[x] a[Stride x] v[x].
template <int Stride>
void add_products(double* __restrict__ sums, const double* w, const double* a, const double* v, int64 count) {
  for (int64 x = 0; x < count; ++x) sums[x] += w[x] * a[Stride * x] * v[x];
}

int64 tasks_of(int64 points) { return (points + kPoints - 1) / kPoints; }

// Calls f(task, first, last) for ranges of points that do not depend on the number of threads.
template <class F>
void for_points(const Grid& grid, const F& f) {
  const int64 n = grid.points();
  parallel_for(tasks_of(n), 4 * n * grid.steps.size(),
               [&](int64 task) { f(task, task * kPoints, std::min(n, (task + 1) * kPoints)); });
}

}  // namespace

Statistics statistics(const Grid& grid, const double* coefficients) {
  const int64 n = grid.points();
  const int count = grid.steps.size();
  std::vector<Statistics> parts(tasks_of(n));
  const double* center = coefficients + grid.center() * n;
  for_points(grid, [&](int64 task, int64 first, int64 last) {
    std::vector<double> sums(last - first), absolutes(last - first);
    Statistics part{0, 0, 0, std::vector<double>(count)};
    for (int s = 0; s < count; ++s) {
      const double* a = coefficients + s * n + first;
      double coupling = 0;
      for (int64 i = 0; i < last - first; ++i) {
        const double size = std::abs(a[i]);
        sums[i] += a[i];
        absolutes[i] += size;
        coupling += size;
      }
      part.coupling[s] = coupling;
    }
    for (int64 i = 0; i < last - first; ++i) {
      const double d = std::abs(center[first + i]);
      part.row_sum = std::max(part.row_sum, std::abs(sums[i]));
      part.norm = std::max(part.norm, absolutes[i]);
      if (d > 0) part.bound = std::max(part.bound, absolutes[i] / d);
    }
    parts[task] = std::move(part);
  });
  Statistics all;
  all.coupling.resize(count);
  for (const Statistics& part : parts) all.add(part);
  return all;
}

template <class T>
void rounded(const Grid& grid, const double* coefficients, T* result) {
  const int64 n = grid.points();
  const int center = grid.center();
  for_points(grid, [&](int64, int64 first, int64 last) {
    std::vector<double> others(last - first);
    for (int s = 0; s < grid.steps.size(); ++s) {
      const double* a = coefficients + s * n + first;
      T* to = result + s * n + first;
      if (s == center) continue;
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
  const Steps targets = grid.targets();
  const auto size = grid.coarse_size();
  const int64 count = grid.coarse_points();
  for (int axes = 1; axes <= 3; ++axes) {  // on which a point is between coarse ones
    for_lines(size[0] * size[1], axes * 20 * count, [&](int64 line) {
      const int64 z = line / size[1], y = line % size[1];
      for (int k = 0; k < targets.size(); ++k) {
        const Step& t = targets[k];
        if ((t[0] != 0) + (t[1] != 0) + (t[2] != 0) != axes) continue;
        double* w = weights + k * count + line * size[2];
        const int64 fz = grid.fine(0, z, t[0]), fy = grid.fine(1, y, t[1]);
        for (int64 x = 0; x < size[2]; ++x) {
          const int64 fx = grid.fine(2, x, t[2]);
          w[x] = fz < 0 || fy < 0 || fx < 0 ? 0
                                            : weight_between(grid, targets, coefficients, weights,
                                                             grid.row(std::array{fz, fy, fx}), line * size[2] + x, t);
        }
      }
    });
  }
}

void galerkin(const Grid& grid, const double* coefficients, const double* weights, double* coarse) {
  const Steps targets = grid.targets(), steps = grid.coarse_steps();
  const Steps from(targets.set() |
                   1u << code(Step{}));  // from a coarse point to a fine one, in whose row it takes part
  const auto size = grid.coarse_size();
  const int64 count = grid.coarse_points(), n = grid.points();
  const std::vector<double> ones(size[2], 1.0);
  const Pairs pairs[] = {Pairs(grid, 0), Pairs(grid, 1), Pairs(grid, 2)};
  std::fill(coarse, coarse + steps.size() * count, 0.0);
  for_lines(size[0] * size[1], 400 * count, [&](int64 line) {
    const int64 z = line / size[1], y = line % size[1];
    const auto of = [&](const Step& t, int64 at) {  // a line of weights
      return stays(t) ? ones.data() : weights + targets.position(t) * count + at * size[2];
    };
    for (const Step& t : from) {
      const int64 fz = grid.fine(0, z, t[0]), fy = grid.fine(1, y, t[1]);
      if (fz < 0 || fy < 0) continue;
      const double* w = of(t, line);
      for (int s = 0; s < grid.steps.size(); ++s) {
        const Step& o = grid.steps[s];
        const double* a = coefficients + s * n + (fz * grid.size[1] + fy) * grid.size[2];
        for (const Step& u : from) {
          const Pair& in_z = pairs[0].at(t, o, u)[z];
          const Pair& in_y = pairs[1].at(t, o, u)[y];
          if (in_z.coarse < 0 || in_y.coarse < 0) continue;
          const double* v = of(u, in_z.coarse * size[1] + in_y.coarse);
          double* sums = coarse + line * size[2];
          for (const Run& run : pairs[2].runs(t, o, u)) {
            const auto& [fine, next, step] = run.pair;
            double* to = sums + steps.position({in_z.step, in_y.step, step}) * count + run.first;
            if (grid.coarsened[2]) add_products<2>(to, w + run.first, a + fine, v + next, run.last - run.first);
            else add_products<1>(to, w + run.first, a + fine, v + next, run.last - run.first);
          }
        }
      }
    }
  });
}

}  // namespace diagsparse::multigrid
