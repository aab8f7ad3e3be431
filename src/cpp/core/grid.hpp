// A level of multigrid: a matrix whose rows are the points of a grid, and whose elements couple neighbouring points.
//
// A grid has three axes, slabs of lines of points, from the slowest to the fastest; a grid of two axes has one line in
// each slab, and a grid of one axis is a single line. The point (z, y, x) is row (z ny + y) nx + x. Each step, such as
// (0, 0, 1), has a diagonal with one coefficient for each row, that of the point's neighbour in this direction:
//
//     steps         (-1,0,0) (0,0,-1) (0,0,0) (0,0,1) (1,0,0)      the grid of 2 x 3 points, without lines
//     coefficients      0        0       4      -1      -1         row 0: the point (0, 0, 0)
//                       0       -1       4      -1      -1         row 1
//                       0       -1       4       0      -1
//                      -1        0       4      -1       0
//                      -1       -1       4      -1       0
//                      -1       -1       4       0       0         row 5: the point (1, 0, 2)
//
// The values of a step are contiguous, one step after another. Neighbours beyond the ends of an axis have coefficients
// of 0, unless it is periodic. The next level has every second point, 0, 2, 4, ..., of the axes that are coarsened.
#pragma once

#include <array>
#include <vector>

#include "core/types.hpp"

namespace diagsparse::multigrid {

using Step = std::array<int, 3>;

// Whether a step leads to its own point.
constexpr bool stays(const Step& s) { return s[0] == 0 && s[1] == 0 && s[2] == 0; }

// A number for each of the 27 steps.
constexpr int code(const Step& s) { return (s[0] + 1) * 9 + (s[1] + 1) * 3 + s[2] + 1; }
constexpr Step step_of(int code) { return {code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1}; }

// Different steps, in the order of their numbers.
class Steps {
 public:
  constexpr Steps() = default;
  // A step for each bit that is set, by its number.
  constexpr explicit Steps(unsigned set) {
    for (int c = 0; c < 27; ++c) {
      position_[c] = set >> c & 1 ? size_ : -1;
      if (set >> c & 1) steps_[size_++] = step_of(c);
    }
  }
  constexpr int size() const { return size_; }
  constexpr const Step& operator[](int s) const { return steps_[s]; }
  constexpr const Step* begin() const { return steps_.data(); }
  constexpr const Step* end() const { return steps_.data() + size_; }
  constexpr int position(const Step& s) const { return position_[code(s)]; }  // -1 if it is not one of them
  constexpr unsigned set() const {
    unsigned bits = 0;
    for (const Step& s : *this) bits |= 1u << code(s);
    return bits;
  }

 private:
  int size_ = 0;
  std::array<Step, 27> steps_{};
  std::array<int, 27> position_{};
};

struct Grid {
  std::array<int64, 3> size;
  std::array<bool, 3> periodic;
  std::array<bool, 3> coarsened;
  Steps steps;  // of the matrix; the center is one of them

  constexpr int64 points() const { return size[0] * size[1] * size[2]; }
  constexpr std::array<int64, 3> coarse_size() const {
    std::array<int64, 3> coarse = size;
    for (int d = 0; d < 3; ++d) coarse[d] = coarsened[d] ? (size[d] + 1) / 2 : size[d];
    return coarse;
  }
  constexpr int64 coarse_points() const {
    const auto coarse = coarse_size();
    return coarse[0] * coarse[1] * coarse[2];
  }
  constexpr int center() const { return steps.position(Step{}); }
  // The position of the step along one axis, or -1.
  constexpr int neighbour_position(int axis, int step) const {
    Step s{};
    s[axis] = step;
    return steps.position(s);
  }

  // The steps from a coarse point to the fine points that it is interpolated to, without (0, 0, 0), whose weight is 1.
  // Their weights are stored like coefficients: a value for each coarse point, one step after another.
  constexpr Steps targets() const {
    unsigned set = 0;
    for (int c = 0; c < 27; ++c) {
      const Step t = step_of(c);
      bool fits = !stays(t);
      for (int d = 0; d < 3; ++d) fits &= t[d] == 0 || coarsened[d];
      if (fits) set |= 1u << c;
    }
    return Steps(set);
  }

  // The steps that the matrix of the next level can have.
  constexpr Steps coarse_steps() const {
    unsigned set = 0;
    for (int c = 0; c < 27; ++c) {
      bool fits = true;
      for (int d = 0; d < 3; ++d) fits &= step_of(c)[d] == 0 || size[d] > 1;
      if (fits) set |= 1u << c;
    }
    return Steps(set);
  }

  // The step between two points that are neighbours, also over the ends of an axis; {2, 2, 2} if they are not.
  template <class Index>
  constexpr Step between(const std::array<Index, 3>& from, const std::array<Index, 3>& to) const {
    Step step{};
    for (int d = 0; d < 3; ++d) {
      const Index apart = to[d] - from[d];
      if (apart >= -1 && apart <= 1) step[d] = static_cast<int>(apart);
      else if (apart == size[d] - 1) step[d] = -1;
      else if (apart == 1 - size[d]) step[d] = 1;
      else return {2, 2, 2};
    }
    return step;
  }

  // The point at a distance of one step on an axis, or -1 if there is none. Here and below, GPUs count points of an
  // axis with 32 bits.
  template <class Index>
  constexpr Index neighbour(int axis, Index at, int step) const {
    const Index to = at + step, n = static_cast<Index>(size[axis]);
    if (to >= 0 && to < n) return to;
    return !periodic[axis] ? -1 : to < 0 ? to + n : to - n;
  }

  // On a coarsened axis, the coarse point from which step t leads to a fine point, or -1. An odd number of points on a
  // periodic axis has two neighbouring coarse points at its ends, so that no fine point is between them.
  template <class Index>
  constexpr Index coarse(int axis, Index at, int t) const {
    if (!coarsened[axis]) return t == 0 ? at : -1;
    const Index twice = at - t, n = static_cast<Index>(size[axis]);
    if (twice < 0 || twice % 2) return -1;
    if (twice < n) return twice / 2;
    return periodic[axis] && n % 2 == 0 ? 0 : -1;
  }
  // The fine point at step t from a coarse one, or -1.
  template <class Index>
  constexpr Index fine(int axis, Index at, int t) const {
    if (!coarsened[axis]) return t == 0 ? at : -1;
    const Index to = 2 * at + t, n = static_cast<Index>(size[axis]);
    if (to >= 0 && to < n) return to;
    return !periodic[axis] || n % 2 != 0 ? -1 : to < 0 ? to + n : to - n;
  }

  // Whether an element and the one across the main diagonal differ, by more than a fraction of their size.
  // `at` is the row of the first, whose step is s, and `there` that of the other.
  constexpr bool differ(const double* coefficients, int s, int64 at, int64 there, double tolerance) const {
    const Step& o = steps[s];
    const int back = steps.position({-o[0], -o[1], -o[2]});
    const double a = coefficients[s * points() + at], b = back < 0 ? 0 : coefficients[back * points() + there];
    const double off = a < b ? b - a : a - b, size = a < 0 ? -a : a;
    return !(off <= tolerance * size);
  }

  // The row of a point, and the point of a row.
  template <class Index>
  constexpr int64 row(const std::array<Index, 3>& point) const {
    return (point[0] * size[1] + point[1]) * size[2] + point[2];
  }
  constexpr std::array<int64, 3> point(int64 row) const {
    const int64 line = row / size[2];
    return {line / size[1], line % size[1], row % size[2]};
  }
};

// What happens to the elements of a diagonal: whether all that are not zero couple neighbours, by one of the steps of
// the grid, and on which axes they do so over the ends.
struct Placed {
  bool fits = true;
  std::array<bool, 3> around{};
};

// Whether elements on the main diagonal are positive, and the matrix is symmetric, but for rounding errors.
struct Definite {
  bool positive = true, symmetric = true;
};

// What the set-up has to know of the coefficients.
struct Statistics {
  double row_sum = 0;            // the largest absolute value of the sum of a row
  double norm = 0;               // the largest sum of absolute values in a row
  double bound = 0;              // of the eigenvalues of D^-1 A: the largest sum of absolute values in one of its rows
  std::vector<double> coupling;  // the sum of absolute values on each diagonal

  // Takes those of other rows in.
  void add(const Statistics& other) {
    row_sum = other.row_sum > row_sum ? other.row_sum : row_sum;
    norm = other.norm > norm ? other.norm : norm;
    bound = other.bound > bound ? other.bound : bound;
    coupling.resize(other.coupling.size());
    for (std::size_t s = 0; s < coupling.size(); ++s) coupling[s] += other.coupling[s];
  }
};

// A smoother of two steps, as the polynomial e = a1 s + a2 D^-1 A s of the scaled residual s = D^-1 (b - A x), where D
// is the main diagonal of A: two steps of Jacobi's method, or a Chebyshev polynomial.
template <class T>
struct Smoother {
  T a1, a2;
};

}  // namespace diagsparse::multigrid
