// Substitution with a triangle of diagonals.
//
// With several columns, a thread processes the rows of some columns one after another. With one column, there are two
// ways, depending on the order that cpu/triangle.hpp chose:
//   lines: the rows of a grid whose diagonals do not leave its lines too far. Blocks of lines and positions with equal
//          sums of their numbers do not depend on each other, and a thread computes four lines side by side.
//   tiles: the diagonals far from the main one are subtracted from a tile of rows at once, as vectors, and those near
//          it row by row.
#pragma once

#include <array>

#include "kernels/simd/substitution.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

using triangles::kNear, triangles::Order, triangles::Term;

constexpr int64 kTile = 1024;       // rows whose far diagonals are subtracted together: they stay in the L1 cache
constexpr int64 kSide = 4;          // lines that are computed together: their sums do not wait for each other
constexpr int64 kLines = 16;        // lines in a block
constexpr int64 kPositions = 1024;  // and positions
constexpr int64 kSlow = 4;          // multiply-adds of a product that take as long as one of these sums

template <class T>
struct DiagonalSubstitution : Substitution<T> {
  using Substitution<T>::t, Substitution<T>::x, Substitution<T>::columns, Substitution<T>::inverse;
  using Substitution<T>::values;
  const Term* terms;
  int count;
  int64 sign;  // of the way from a row to those that it depends on

  DiagonalSubstitution(const System& triangle, T* x, int64 columns)
      : Substitution<T>(triangle, x, columns),
        terms(t.terms.data()),
        count(static_cast<int>(t.terms.size())),
        sign(t.lower ? -1 : 1) {}

  void run() const {
    const int64 work = (count + 1) * t.rows;
    if (columns == 1) return t.order == Order::lines ? lines(work) : tiles(work);
    this->for_columns(work, [&]<int K>(int64 first) {
      for (int64 q = 0; q < t.rows; ++q) row<K>(q, t.rows, first);
    });
  }

 private:
  // Row q, at position p of a line. Terms that lead out of the line are zeros; the rows that they multiply may not be
  // known yet.
  template <int K>
  [[gnu::always_inline]] void row(int64 q, int64 p, int64 first) const {
    const int64 i = t.row(q);
    this->template substitute<K>(i, first, [&](const auto& subtract) {
      for (int k = 0; k < count; ++k) {
        const Term& term = terms[k];
        if (term.distance <= q && term.ahead <= p) subtract(values[term.first + i], i + sign * term.distance);
      }
    });
  }

  // Blocks of lines and positions in the order of the sums of their numbers; those with equal sums do not depend on
  // each other. Position p of line j counts as p + j skew.
  void lines(int64 work) const {
    const int64 all = (t.rows + t.line - 1) / t.line, positions = t.line + (all - 1) * t.skew;
    const int64 down = (all + kLines - 1) / kLines, across = (positions + kPositions - 1) / kPositions;
    for (int64 sum = 0; sum < down + across - 1; ++sum) {
      const int64 first = std::max<int64>(0, sum - across + 1), tasks = std::min(down, sum + 1) - first;
      const auto compute = [&](int64 task) {
        const int64 block = first + task, begin = (sum - block) * kPositions;
        const int64 end = std::min(positions, begin + kPositions), last = std::min(all, (block + 1) * kLines);
        for (int64 j = block * kLines; j < last; j += kSide) side_by_side(j, std::min(last, j + kSide), begin, end);
      };
      const int64 part = work / (down + across);
      parallel_for(tasks, part, compute, thread_count_for(tasks, kSlow * part));
    }
  }

  void side_by_side(int64 first, int64 last, int64 begin, int64 end) const {
    begin = std::max(begin, first * t.skew);
    end = std::min(end, t.line + (last - 1) * t.skew);
    switch (count) {
      case 1: return steps<1>(first, last, begin, end);
      case 2: return steps<2>(first, last, begin, end);
      case 3: return steps<3>(first, last, begin, end);
      case 4: return steps<4>(first, last, begin, end);
      default: return edge(first, last, begin, end);
    }
  }

  // Lines [first, last), one step after the other.
  template <int Count>
  void steps(int64 first, int64 last, int64 begin, int64 end) const {
    // Between these steps, all lines have all terms.
    const int64 low = std::max((last - 1) * t.skew + t.reach, terms[0].distance - first * (t.line - t.skew));
    const int64 high = std::min(first * t.skew + t.line, t.rows - (last - 1) * (t.line - t.skew));
    const int64 from = std::clamp(low, begin, std::max(begin, end)), to = std::clamp(high, from, std::max(from, end));
    edge(first, last, begin, from);
    std::array<const T*, Count> a;
    std::array<const T*, Count> v;
    for (int k = 0; k < Count; ++k) {
      a[k] = values + terms[k].first;
      v[k] = x + sign * terms[k].distance;
    }
    const int64 to_next = sign * (t.skew - t.line);
    for (int64 step = from; step < to; ++step) {
      int64 i = t.row(first * (t.line - t.skew) + step);
      for (int64 j = first; j < last; ++j, i += to_next) {
        T sum = x[i];
        for (int k = 0; k < Count; ++k) subtract_product(sum, a[k][i], v[k][i]);
        x[i] = inverse ? product(inverse[i], sum) : sum;
      }
    }
    edge(first, last, to, end);
  }
  [[gnu::noinline]] void edge(int64 first, int64 last, int64 begin, int64 end) const {
    for (int64 step = begin; step < end; ++step) {
      for (int64 j = first; j < last; ++j) {
        const int64 p = step - j * t.skew, q = j * t.line + p;
        if (p >= 0 && p < t.line && q < t.rows) row<1>(q, p, 0);
      }
    }
  }

  // One column: the far terms of a tile at once, then the near ones row by row.
  void tiles(int64 work) const {
    int far = count;
    while (far > 0 && terms[far - 1].distance < kNear) --far;
    const int64 independent = far > 0 ? terms[far - 1].distance : t.rows;
    if (far == count && independent >= 2 * kTask) {
      for (int64 q = 0; q < t.rows; q += independent) {
        const int64 rows = std::min(independent, t.rows - q), tasks = (rows + kTask - 1) / kTask;
        parallel_for(tasks, work / t.rows * rows, [&](int64 task) {
          for (int64 at = task * kTask; at < std::min(rows, (task + 1) * kTask); at += kTile) {
            tile(q + at, std::min({q + at + kTile, q + rows, q + (task + 1) * kTask}), far);
          }
        });
      }
      return;
    }
    const int64 rows = std::min(independent, kTile);
    for (int64 q = 0; q < t.rows; q += rows) tile(q, std::min(t.rows, q + rows), far);
  }

  void tile(int64 begin, int64 end, int far) const {
    for (int k = 0; k < far; ++k) {
      const int64 first = std::max(begin, terms[k].distance);
      if (first >= end) continue;
      const int64 low = std::min(t.row(first), t.row(end - 1));
      const T *const a = values + terms[k].first + low, *const from = x + low + sign * terms[k].distance;
      T* const to = x + low;
#pragma GCC ivdep
      for (int64 i = 0; i < end - first; ++i) subtract_product(to[i], a[i], from[i]);
    }
    if (far == count) {
      if (!inverse) return;
      const int64 low = std::min(t.row(begin), t.row(end - 1));
      for (int64 i = low; i < low + end - begin; ++i) x[i] = product(inverse[i], x[i]);
    } else if (far + 1 == count && terms[far].distance == 1) {
      neighbours(begin, end);
    } else {
      for (int64 q = begin; q < end; ++q) near_row(q, far);
    }
  }

  void near_row(int64 q, int far) const {
    const int64 i = t.row(q);
    T sum = x[i];
    for (int k = far; k < count; ++k) {
      if (terms[k].distance <= q) subtract_product(sum, values[terms[k].first + i], x[i + sign * terms[k].distance]);
    }
    x[i] = inverse ? product(inverse[i], sum) : sum;
  }

  // The last term is the neighbour, whose value stays in a register.
  void neighbours(int64 begin, int64 end) const {
    const T* const a = values + terms[count - 1].first;
    int64 q = begin;
    if (q == 0) near_row(q++, count);
    if (q >= end) return;
    T before = x[t.row(q - 1)];
    for (int64 i = t.row(q); q < end; ++q, i -= sign) {
      T sum = x[i];
      subtract_product(sum, a[i], before);
      x[i] = before = inverse ? product(inverse[i], sum) : sum;
    }
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
