// Substitution with the triangles of cpu/triangle.hpp, in place.
//
//   x: rows x columns, C order. Traffic in bytes: the triangle + 2 x, once each.
//
// Threads process columns, or rows that do not depend on each other. The terms of a row and their order depend on the
// triangle alone, so the result has the same bits for any number of threads.
#include "cpu/triangle.hpp"

#include <algorithm>
#include <array>

#include "core/compressed_rows.hpp"
#include "cpu/parallel.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

using triangles::kNear, triangles::Order, triangles::Solve, triangles::Term, triangles::System;

constexpr int64 kColumns = 8;       // columns of a task
constexpr int64 kTile = 1024;       // rows whose far diagonals are subtracted together: they stay in the L1 cache
constexpr int64 kTask = 4096;       // independent rows in a task
constexpr int64 kSide = 4;          // lines that are computed together: their sums do not wait for each other
constexpr int64 kLines = 16;        // lines in a block
constexpr int64 kPositions = 1024;  // and positions
constexpr int64 kSlow = 4;          // multiply-adds of a product that take as long as one of these sums

template <class T>
T negative(T v) {
  if constexpr (is_complex<T>) return {-v.re, -v.im};
  else return -v;
}

// sum -= a x
template <class T>
[[gnu::always_inline]] inline void subtract_product(T& sum, T a, T x) {
  add_product(sum, negative(a), x);
}

template <class T>
struct Substitution {
  const System& t;
  const T* values;
  const T* inverse;  // null if the main diagonal is 1
  T* x;
  int64 columns;

  Substitution(const System& triangle, T* x, int64 columns)
      : t(triangle),
        values(triangle.matrix.values.as<T>()),
        inverse(triangle.inverse.size() ? triangle.inverse.as<T>() : nullptr),
        x(x),
        columns(columns) {}

  // Calls f.template operator()<K>(first) for groups of K columns from `first` on.
  template <class F>
  void for_columns(int64 work, const F& f) const {
    const int64 tasks = (columns + kColumns - 1) / kColumns;
    parallel_for(tasks, work * columns, [&](int64 task) {
      int64 c = task * kColumns;
      const int64 last = std::min(columns, c + kColumns);
      if (last - c == kColumns) return f.template operator()<kColumns>(c);
      for (; c + 4 <= last; c += 4) f.template operator()<4>(c);
      for (; c + 2 <= last; c += 2) f.template operator()<2>(c);
      if (c < last) f.template operator()<1>(c);
    });
  }

  // Row i of K columns: x[i] = (x[i] - sum of a x[j]) / pivot, where terms(f) calls f(a, j) for each term.
  template <int K, class Terms>
  [[gnu::always_inline]] void substitute(int64 i, int64 first, const Terms& terms) const {
    T* const to = x + i * columns + first;
    T sum[K];
    for (int c = 0; c < K; ++c) sum[c] = to[c];
    terms([&](T a, int64 j) {
      const T* const from = x + j * columns + first;
      a = negative(a);
      for (int c = 0; c < K; ++c) add_product(sum[c], a, from[c]);
    });
    for (int c = 0; c < K; ++c) to[c] = inverse ? product(inverse[i], sum[c]) : sum[c];
  }
};

// ---- csr ------------------------------------------------------------------------------------------
template <class T>
struct RowSubstitution : Substitution<T> {
  using Substitution<T>::t, Substitution<T>::x, Substitution<T>::columns, Substitution<T>::inverse;
  Csr<T> a;

  RowSubstitution(const System& triangle, T* x, int64 columns)
      : Substitution<T>(triangle, x, columns), a(Csr<T>::of(triangle.matrix)) {}

  template <int K>
  [[gnu::always_inline]] void row(int64 i, int64 first) const {
    int64 begin = a.indptr[i], end = t.split[i];
    if (!t.lower) {
      begin = end, end = a.indptr[i + 1];
      if (begin < end && a.indices[begin] == i) ++begin;
    }
    this->template substitute<K>(i, first, [&](const auto& subtract) {
      for (int64 e = begin; e < end; ++e) subtract(a.values[e], a.indices[e]);
    });
  }

  void run() const {
    const int64 work = a.indptr[a.rows] + a.rows;
    if (t.order == Order::levels && columns == 1) {
      for (std::size_t level = 0; level + 1 < t.levels.size(); ++level) {
        const int64 first = t.levels[level], count = t.levels[level + 1] - first, tasks = (count + kTask - 1) / kTask;
        parallel_for(tasks, work / t.rows * count, [&](int64 task) {
          const int64 last = first + std::min(count, (task + 1) * kTask);
          for (int64 at = first + task * kTask; at < last; ++at) row<1>(t.sorted[at], 0);
        });
      }
      return;
    }
    this->for_columns(work, [&]<int K>(int64 first) {
      for (int64 q = 0; q < t.rows; ++q) row<K>(t.row(q), first);
    });
  }
};

// ---- diagonals ------------------------------------------------------------------------------------
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

template <class T>
void solve(const System& t, T* x, int64 columns) {
  if (t.rows == 0 || columns == 0) return;
  if (diagonals_of(*t.matrix.structure) != nullptr) DiagonalSubstitution<T>(t, x, columns).run();
  else RowSubstitution<T>(t, x, columns).run();
}

const ForEachSet<Solve<float>> of_floats(kIsa, solve<float>);
const ForEachSet<Solve<double>> of_doubles(kIsa, solve<double>);
const ForEachSet<Solve<Complex<float>>> of_complex_floats(kIsa, solve<Complex<float>>);
const ForEachSet<Solve<Complex<double>>> of_complex_doubles(kIsa, solve<Complex<double>>);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
