// The analysis of triangles: pivots, and an order of the rows.
#include "cpu/triangle.hpp"

#include <algorithm>
#include <cmath>

#include "core/arithmetic.hpp"
#include "core/compressed_rows.hpp"
#include "core/pivots.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse::triangles {

namespace {

constexpr int64 kFewestLines = 16;         // of a grid
constexpr int64 kFewestInLevel = 1 << 13;  // rows in an average level, so that threads gain from it

// Calls f(begin, end) for ranges of rows, and returns whether all results are true.
template <class F>
bool for_ranges(int64 rows, int64 work, const F& f) {
  const int64 tasks = tasks_for(work);
  std::vector<char> fine(tasks);
  parallel_for(tasks, work, [&](int64 task) { fine[task] = f(rows * task / tasks, rows * (task + 1) / tasks); });
  return std::all_of(fine.begin(), fine.end(), [](char one) { return one; });
}

// Stores the reciprocals of the pivots; pivot(i) is that of row i.
template <class T, class F>
void invert(System& t, const F& pivot) {
  t.inverse = Array::empty(dtype_of<T>(), {t.rows});
  T* const to = t.inverse.as<T>();
  const bool regular = for_ranges(t.rows, t.rows, [&](int64 begin, int64 end) {
    bool fine = true;
    for (int64 i = begin; i < end; ++i) {
      to[i] = reciprocal(pivot(i));
      fine &= is_finite(to[i]) && is_finite(pivot(i));
    }
    return fine;
  });
  if (regular) return;
  for (int64 i = 0; i < t.rows; ++i) t.finite &= is_finite(pivot(i));
  for (int64 i = 0; i < t.rows && t.singular < 0; ++i) {
    if (!is_finite(to[i])) t.singular = i;
  }
}

// ---- diagonals ------------------------------------------------------------------------------------
// Whether the elements of a diagonal in the first `count` rows of each line are zero.
template <class T>
bool lines_begin_with_zeros(const System& t, const Term& term, int64 line, int64 count, const T* values) {
  for (int64 q = line; q < t.rows; q += line) {
    for (int64 p = q; p < std::min(t.rows, q + count); ++p) {
      if (p >= term.distance && !is_zero(values[term.first + t.row(p)])) return false;
    }
  }
  return true;
}

// Finds lines such that rows depend only on positions before theirs of the same line and on lines before it.
template <class T>
bool find_lines(System& t, const T* values) {
  for (const Term& candidate : t.terms) {
    const int64 line = candidate.distance;
    if (line < 2 || t.rows / line < kFewestLines) continue;
    std::vector<Term> terms = t.terms;
    int64 skew = 1, reach = 0;
    for (Term& term : terms) {
      const int64 lines = (term.distance + line / 2) / line, ahead = term.distance - lines * line;
      if (lines > 0) skew = std::max(skew, (lines - ahead) / lines);  // at least (1 - ahead) / lines
      term.ahead = std::max<int64>(ahead, 0);
      reach = std::max(reach, term.ahead);
    }
    const bool valid = skew * kFewestLines <= line && std::all_of(terms.begin(), terms.end(), [&](const Term& term) {
                         return lines_begin_with_zeros(t, term, line, term.ahead, values);
                       });
    if (!valid) continue;
    t.terms = std::move(terms);
    t.line = line;
    t.skew = skew;
    t.reach = reach;
    return true;
  }
  return false;
}

template <class T>
void analyze_diagonals(System& t, Op op, bool unit) {
  const T* const values = t.matrix.values.as<T>();
  bool pivots = false;
  for (const Span& s : spans_of(t.matrix.layout(), op)) {
    if (s.offset == 0) {
      pivots = true;
      if (!unit) invert<T>(t, [&](int64 i) { return values[s.start + i]; });
    }
    if (t.lower ? s.offset >= 0 : s.offset <= 0) continue;
    const T* const from = values + s.start;
    const bool zeros = for_ranges(s.length, s.length, [&](int64 begin, int64 end) {
      return std::all_of(from + begin, from + end, [](T v) { return is_zero(v); });
    });
    if (zeros) continue;
    t.finite &= for_ranges(s.length, s.length,
                           [&](int64 begin, int64 end) { return std::all_of(from + begin, from + end, is_finite<T>); });
    t.terms.push_back({std::abs(s.offset), s.start - s.row});
  }
  if (!pivots && !unit && t.rows > 0) t.singular = 0;
  std::sort(t.terms.begin(), t.terms.end(), [](const Term& a, const Term& b) { return a.distance > b.distance; });
  t.order = Order::blocks;
  if (!t.terms.empty() && t.terms.back().distance < kNear && find_lines(t, values)) t.order = Order::lines;
}

// ---- csr ------------------------------------------------------------------------------------------
template <class T>
void analyze_rows(System& t, bool unit) {
  const Csr<T> a = Csr<T>::of(t.matrix);
  t.split.resize(t.rows);
  t.finite = for_ranges(t.rows, a.indptr[a.rows] + a.rows, [&](int64 begin, int64 end) {
    bool fine = true;
    for (int64 i = begin; i < end; ++i) {
      const std::int32_t *const first = a.indices + a.indptr[i], *const last = a.indices + a.indptr[i + 1];
      t.split[i] = std::lower_bound(first, last, i) - a.indices;
      const int64 from = t.lower ? a.indptr[i] : t.split[i], to = t.lower ? t.split[i] : a.indptr[i + 1];
      for (int64 e = from; e < to; ++e) fine &= is_finite(a.values[e]) || a.indices[e] == i;
    }
    return fine;
  });
  const auto on_diagonal = [&](int64 i) { return t.split[i] < a.indptr[i + 1] && a.indices[t.split[i]] == i; };
  if (!unit) invert<T>(t, [&](int64 i) { return on_diagonal(i) ? a.values[t.split[i]] : T{}; });

  // The level of a row is one more than the highest of those that it depends on.
  std::vector<std::int32_t> level(t.rows);
  std::int32_t count = 0;
  for (int64 q = 0; q < t.rows; ++q) {
    const int64 i = t.row(q), from = t.lower ? a.indptr[i] : t.split[i] + on_diagonal(i),
                to = t.lower ? t.split[i] : a.indptr[i + 1];
    std::int32_t mine = 0;
    for (int64 e = from; e < to; ++e) mine = std::max(mine, level[a.indices[e]] + 1);
    level[i] = mine;
    count = std::max(count, mine + 1);
  }
  if (count == 0 || t.rows < count * kFewestInLevel) return;
  t.order = Order::levels;
  t.levels.assign(count + 1, 0);
  for (const std::int32_t one : level) ++t.levels[one + 1];
  for (std::int32_t l = 0; l < count; ++l) t.levels[l + 1] += t.levels[l];
  std::vector<int64> next(t.levels.begin(), t.levels.end() - 1);
  t.sorted.resize(t.rows);
  for (int64 i = 0; i < t.rows; ++i) t.sorted[next[level[i]]++] = static_cast<std::int32_t>(i);
}

}  // namespace

int64 System::nbytes() const {
  return inverse.nbytes() +
         static_cast<int64>(terms.size() * sizeof(Term) + split.size() * 8 + sorted.size() * 4 + levels.size() * 8);
}

System analyzed(const Matrix& a, Op op, bool lower, bool unit) {
  System t;
  t.matrix = a;
  t.lower = lower;
  t.rows = a.rows;
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (diagonals_of(*a.structure) != nullptr) analyze_diagonals<T>(t, op, unit);
    else analyze_rows<T>(t, unit);
  });
  return t;
}

}  // namespace diagsparse::triangles
