// Two lists of sorted entries of csr, csc or coo, merged on the CPU.
#pragma once

#include <algorithm>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/convert.hpp"
#include "core/elementwise.hpp"
#include "cpu/entries_in_order.hpp"
#include "cpu/values.hpp"

namespace diagsparse::merging {

constexpr int64 kEntries = 1 << 15;  // entries of both operands plus lines of a task

// The positions of entries in lines of csr or csc, readable and writable.
struct InLines {
  using Key = std::int32_t;
  std::int32_t* index;

  static constexpr bool in_lines = true;
  static std::vector<const char*> names() { return {"indices"}; }
  explicit InLines(const std::vector<Array>& arrays) : index(arrays[0].as<std::int32_t>()) {}
  Key operator[](int64 e) const { return index[e]; }
  void set(int64 e, Key key) const { index[e] = key; }
};

// The positions of entries of coo: a single line of (row, col) pairs.
struct InPairs {
  using Key = int64;
  std::int32_t *row, *col;

  static constexpr bool in_lines = false;
  static std::vector<const char*> names() { return {"row", "col"}; }
  explicit InPairs(const std::vector<Array>& arrays)
      : row(arrays[0].as<std::int32_t>()), col(arrays[1].as<std::int32_t>()) {}
  Key operator[](int64 e) const { return static_cast<int64>(row[e]) << 32 | col[e]; }
  void set(int64 e, Key key) const {
    row[e] = static_cast<std::int32_t>(key >> 32);
    col[e] = static_cast<std::int32_t>(key);
  }
};

template <class Positions>
std::vector<Array> positions_of(const Matrix& m) {
  std::vector<Array> all;
  for (const char* name : Positions::names()) all.push_back(m.index(name));
  return all;
}

template <class T, class Positions>
struct Entries {
  Positions positions;
  T* values;

  explicit Entries(const Matrix& m) : positions(positions_of<Positions>(m)), values(m.values.as<T>()) {}
  // The last array holds the values, if there are any.
  explicit Entries(const std::vector<Array>& arrays) : positions(arrays), values(arrays.back().as<T>()) {}
};

// How the entries of `a` and `b` at one position are combined, including those of only one operand. `unequal` yields
// positions without values.
enum class Join { sum, difference, product, unequal };

template <Join How>
constexpr bool has_values = How != Join::unequal;

template <Join How, class T>
T join(T left, T right) {
  if constexpr (How == Join::sum) return left + right;
  else if constexpr (How == Join::difference) return left + Real<T>(-1) * right;
  else return left * right;
}
template <Join How, class T>
T join_left(T left) {
  if constexpr (How == Join::product) return left * T{};
  else return left;
}
template <Join How, class T>
T join_right(T right) {
  if constexpr (How == Join::product) return right * T{};
  else if constexpr (How == Join::difference) return Real<T>(-1) * right;
  else return right;
}

// The start of a task: the number of lines (of csr and csc) and of entries of a and b before it.
struct Cut {
  int64 line, a, b;
};
using Cuts = std::vector<Cut>;

inline LineChunks chunks_of(const Cuts& cuts) {
  LineChunks chunks;
  for (std::size_t t = 1; t < cuts.size(); ++t) chunks.add(cuts[t].a + cuts[t].b, cuts[t].line);
  return chunks;
}

// A task: merges the entries of a and b between two cuts, and writes them to `out` from position `to` on.
template <class T, class Positions, Join How>
struct MergeTask {
  Entries<T, Positions> a, b, out;
  const int64 *a_start, *b_start;  // of the lines, as is `start`; null for pairs
  int64* start;
  bool zeros;

  int64 operator()(const Cut& cut, const Cut& end, int64 to) const {
    const MergeTask self = *this;  // a local copy, so that no member is reloaded
    if constexpr (!Positions::in_lines) return merge(self, cut.a, end.a, cut.b, end.b, to);
    for (int64 i = cut.line; i < end.line; ++i) {
      to = merge(self, self.a_start[i], self.a_start[i + 1], self.b_start[i], self.b_start[i + 1], to);
      self.start[i + 1] = to;
    }
    return to;
  }

 private:
  [[gnu::always_inline]] static int64 merge(const MergeTask& w, int64 i, int64 i_end, int64 j, int64 j_end, int64 to) {
    const bool keep_unmatched = w.zeros && How != Join::product;
    const auto put = [&w, &to](auto key, T value, bool stays) {
      w.out.positions.set(to, key);
      if constexpr (has_values<How>) w.out.values[to] = value;
      to += stays || !is_zero(value);
    };
    const auto put_a = [&](auto key) { put(key, join_left<How>(w.a.values[i++]), keep_unmatched); };
    const auto put_b = [&](auto key) { put(key, join_right<How>(w.b.values[j++]), keep_unmatched); };
    while (i < i_end && j < j_end) {
      const auto x = w.a.positions[i], y = w.b.positions[j];
      if (x == y) {
        const T u = w.a.values[i++], v = w.b.values[j++];
        if constexpr (has_values<How>) put(x, join<How>(u, v), w.zeros);
        else put(x, T{}, !equal(u, v));
      } else if (x < y) {
        put_a(x);
      } else {
        put_b(y);
      }
    }
    while (i < i_end) put_a(w.a.positions[i]);
    while (j < j_end) put_b(w.b.positions[j]);
    return to;
  }
};

inline int64 tasks_of(int64 work) { return work / kEntries + 1; }

// The first number in [low, high] for which before() is false; before() must be true for all smaller ones.
template <class F>
int64 bisect(int64 low, int64 high, const F& before) {
  while (low < high) {
    const int64 middle = low + (high - low) / 2;
    if (before(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Cuts between lines, given the pointers to the lines of a and b.
inline Cuts cuts_in_lines(const int64* a, const int64* b, int64 lines) {
  const auto work = [=](int64 line) { return a[line] + b[line] + line; };
  const int64 tasks = tasks_of(work(lines));
  Cuts cuts;
  for (int64 t = 0; t <= tasks; ++t) {
    const int64 target = work(lines) / tasks * t;
    const int64 line = t == tasks ? lines : bisect(0, lines, [&](int64 i) { return work(i) < target; });
    cuts.push_back({line, a[line], b[line]});
  }
  return cuts;
}

// Cuts that do not separate entries at the same position.
inline Cuts cuts_in_pairs(const InPairs& a, int64 a_count, const InPairs& b, int64 b_count) {
  const int64 tasks = tasks_of(a_count + b_count);
  Cuts cuts;
  for (int64 t = 0; t < tasks; ++t) {
    const int64 both = (a_count + b_count) / tasks * t;  // entries before the cut
    int64 i = bisect(std::max<int64>(0, both - b_count), std::min(both, a_count),
                     [&](int64 e) { return a[e] < b[both - 1 - e]; });
    const int64 j = both - i;
    if (i < a_count && j > 0 && a[i] == b[j - 1]) ++i;
    cuts.push_back({0, i, j});
  }
  cuts.push_back({0, a_count, b_count});
  return cuts;
}

// Merged entries: the arrays of their structure, and the values if there are any.
struct MergedEntries {
  std::vector<Part> positions;
  Array values;
};

// Lets tasks write entries by write_task(out, start, t, to), and returns what they wrote.
template <class T, class Positions, bool Values, class F>
MergedEntries entries_by_tasks(const Cuts& cuts, int64 lines, const F& write_task) {
  std::vector<DType> types(Positions::names().size(), DType::i32);
  if (Values) types.push_back(dtype_of<T>());
  Array indptr;
  if (Positions::in_lines) indptr = Array::empty(DType::i64, {lines + 1});
  auto* start = indptr.as<int64>();
  const auto write = [&](const std::vector<Array>& arrays, int64 t, int64 to) {
    return write_task(Entries<T, Positions>(arrays), start, t, to);
  };
  std::vector<Array> arrays = entries_in_order(types, chunks_of(cuts), start, write);
  MergedEntries result;
  if (Values) {
    result.values = std::move(arrays.back());
    arrays.pop_back();
  }
  for (std::size_t k = 0; k < arrays.size(); ++k)
    result.positions.emplace_back(Positions::names()[k], std::move(arrays[k]));
  if (Positions::in_lines) result.positions.emplace_back("indptr", std::move(indptr));
  return result;
}

// An operand in the format of the result, with values in its type that include the factor.
struct Side : Matrix {
  Side(const ScaledMatrix& t, const Format& format, DType type, bool subtracted = false) : Matrix(*t.matrix) {
    const Scalar factor = subtracted ? -t.factor : t.factor;
    Op op = t.op;
    if (this->format != format.name || op.transposed) {
      Matrix::operator=(convert_entries(*this, op, format));
      op = {};
    }
    if (dtype == type && !op.conjugated && factor == 1.0) return;
    Matrix::operator=({structure, values_as(type, values, op.conjugated, factor)});
  }
  const int64* start() const { return index("indptr").as<int64>(); }
  int64 lines() const { return index("indptr").size() - 1; }
};

template <class T, class Positions, Join How>
MergedEntries merged(const Side& a, const Side& b, bool zeros) {
  const int64 *u = nullptr, *v = nullptr;
  int64 lines = 0;
  Cuts cuts;
  if constexpr (Positions::in_lines) {
    u = a.start(), v = b.start(), lines = a.lines();
    cuts = cuts_in_lines(u, v, lines);
  } else {
    cuts = cuts_in_pairs(InPairs(positions_of<InPairs>(a)), a.values.size(), InPairs(positions_of<InPairs>(b)),
                         b.values.size());
  }
  const Entries<T, Positions> left(a), right(b);
  return entries_by_tasks<T, Positions, has_values<How>>(
      cuts, lines, [&](const auto& out, int64* start, int64 t, int64 to) {
        return MergeTask<T, Positions, How>{left, right, out, u, v, start, zeros}(cuts[t], cuts[t + 1], to);
      });
}

// The entries e of `a` for which keep(e) is true, with these values or without values.
template <class T, class Positions, bool Values, class F>
MergedEntries filtered(const Side& a, const T* values, const F& keep) {
  const int64* from = nullptr;
  int64 lines = 0;
  Cuts cuts;
  if constexpr (Positions::in_lines) {
    from = a.start(), lines = a.lines();
    const std::vector<int64> nothing(lines + 1, 0);
    cuts = cuts_in_lines(from, nothing.data(), lines);
  } else {
    for (int64 e = 0; e < a.values.size(); e += kEntries) cuts.push_back({0, e, 0});
    cuts.push_back({0, a.values.size(), 0});
  }
  const Positions positions(positions_of<Positions>(a));
  return entries_by_tasks<T, Positions, Values>(cuts, lines, [&](const auto& out, int64* start, int64 t, int64 to) {
    const auto copy = [&, out](int64 first, int64 last) {
      for (int64 e = first; e < last; ++e) {
        out.positions.set(to, positions[e]);
        if constexpr (Values) out.values[to] = values[e];
        to += keep(e);
      }
    };
    if constexpr (Positions::in_lines) {
      for (int64 i = cuts[t].line; i < cuts[t + 1].line; ++i) {
        copy(from[i], from[i + 1]);
        start[i + 1] = to;
      }
    } else {
      copy(cuts[t].a, cuts[t + 1].a);
    }
    return to;
  });
}

// Calls f with the type that describes the positions in a format.
template <class F>
auto with_positions(const Side& a, const F& f) {
  if (!entry_format(a.format).pointers) return f(static_cast<InPairs*>(nullptr));
  return f(static_cast<InLines*>(nullptr));
}

inline Matrix matrix_of(const Side& like, MergedEntries result) {
  const int64 count = result.values.size();
  return {
      std::make_shared<const Indices>(like.structure->format, like.rows, like.cols, std::move(result.positions), count),
      std::move(result.values)};
}

}  // namespace diagsparse::merging
