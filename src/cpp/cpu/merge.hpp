// Two lists of sorted entries of csr, csc or coo, walked side by side on the CPU.
#pragma once

#include <algorithm>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/convert.hpp"
#include "core/elementwise.hpp"
#include "cpu/entries_in_order.hpp"
#include "cpu/values.hpp"

namespace diagsparse::merging {

constexpr int64 kEntries = 1 << 15;  // of both operands and their lines, a task

// The places of entries in lines of csr or csc, and where they are written to.
struct InLines {
  using Key = std::int32_t;
  std::int32_t* index;

  static constexpr bool in_lines = true;
  static std::vector<const char*> names() { return {"indices"}; }
  explicit InLines(const std::vector<Array>& arrays) : index(arrays[0].as<std::int32_t>()) {}
  Key operator[](int64 e) const { return index[e]; }
  void set(int64 e, Key key) const { index[e] = key; }
};

// The places of entries in coo: one line of pairs.
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

template <class Places>
std::vector<Array> places_of(const Matrix& m) {
  std::vector<Array> all;
  for (const char* name : Places::names()) all.push_back(m.index(name));
  return all;
}

template <class T, class Places>
struct Entries {
  Places places;
  T* values;

  explicit Entries(const Matrix& m) : places(places_of<Places>(m)), values(m.values.as<T>()) {}
  // The last array holds the values, if there are any.
  explicit Entries(const std::vector<Array>& arrays) : places(arrays), values(arrays.back().as<T>()) {}
};

// What is made of two entries of one place, of one of `a` alone and of one of `b` alone. `unequal` makes places alone.
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

// Where a task begins: so many lines of csr and csc lie before it, so many entries of a and of b.
struct Cut {
  int64 line, a, b;
};
using Cuts = std::vector<Cut>;

inline LineShares shares_of(const Cuts& cuts) {
  LineShares shares;
  for (std::size_t t = 1; t < cuts.size(); ++t) shares.add(cuts[t].a + cuts[t].b, cuts[t].line);
  return shares;
}

// A task: the entries of a and b from one cut to the next, to those of `out` from `to` on.
template <class T, class Places, Join How>
struct MergeTask {
  Entries<T, Places> a, b, out;
  const int64 *a_start, *b_start;  // of the lines, as `start`; null in pairs
  int64* start;
  bool zeros;

  int64 operator()(const Cut& cut, const Cut& end, int64 to) const {
    const MergeTask here = *this;  // so that nothing of it is read again
    if constexpr (!Places::in_lines) return walk(here, cut.a, end.a, cut.b, end.b, to);
    for (int64 i = cut.line; i < end.line; ++i) {
      to = walk(here, here.a_start[i], here.a_start[i + 1], here.b_start[i], here.b_start[i + 1], to);
      here.start[i + 1] = to;
    }
    return to;
  }

 private:
  [[gnu::always_inline]] static int64 walk(const MergeTask& w, int64 i, int64 i_end, int64 j, int64 j_end, int64 to) {
    const bool keeps_lone = w.zeros && How != Join::product;
    const auto put = [&w, &to](auto key, T value, bool stays) {
      w.out.places.set(to, key);
      if constexpr (has_values<How>) w.out.values[to] = value;
      to += stays || !is_zero(value);
    };
    const auto put_a = [&](auto key) { put(key, join_left<How>(w.a.values[i++]), keeps_lone); };
    const auto put_b = [&](auto key) { put(key, join_right<How>(w.b.values[j++]), keeps_lone); };
    while (i < i_end && j < j_end) {
      const auto x = w.a.places[i], y = w.b.places[j];
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
    while (i < i_end) put_a(w.a.places[i]);
    while (j < j_end) put_b(w.b.places[j]);
    return to;
  }
};

inline int64 tasks_of(int64 work) { return work / kEntries + 1; }

// The first number in [low, high] that is not before the cut; before(low), ... are true up to there.
template <class F>
int64 bisect(int64 low, int64 high, const F& before) {
  while (low < high) {
    const int64 middle = low + (high - low) / 2;
    if (before(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Cuts between lines, of which a and b begin at these entries.
inline Cuts cuts_in_lines(const int64* a, const int64* b, int64 lines) {
  const auto work = [=](int64 line) { return a[line] + b[line] + line; };
  const int64 tasks = tasks_of(work(lines));
  Cuts cuts;
  for (int64 t = 0; t <= tasks; ++t) {
    const int64 wanted = work(lines) / tasks * t;
    const int64 line = t == tasks ? lines : bisect(0, lines, [&](int64 i) { return work(i) < wanted; });
    cuts.push_back({line, a[line], b[line]});
  }
  return cuts;
}

// Cuts that leave entries of one place together.
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

// Entries as they were made: the arrays of their structure, and the values where there are any.
struct Made {
  std::vector<Part> places;
  Array values;
};

// Runs `make(cuts)`, which says how tasks write entries, and returns what they wrote.
template <class T, class Places, bool Values, class F>
Made made_by(const Cuts& cuts, int64 lines, const F& make) {
  std::vector<DType> types(Places::names().size(), DType::i32);
  if (Values) types.push_back(dtype_of<T>());
  Array indptr;
  if (Places::in_lines) indptr = Array::empty(DType::i64, {lines + 1});
  auto* start = indptr.as<int64>();
  const auto write = [&](const std::vector<Array>& arrays, int64 t, int64 to) {
    return make(Entries<T, Places>(arrays), start, t, to);
  };
  std::vector<Array> arrays = entries_in_order(types, shares_of(cuts), start, write);
  Made result;
  if (Values) {
    result.values = std::move(arrays.back());
    arrays.pop_back();
  }
  for (std::size_t k = 0; k < arrays.size(); ++k) result.places.emplace_back(Places::names()[k], std::move(arrays[k]));
  if (Places::in_lines) result.places.emplace_back("indptr", std::move(indptr));
  return result;
}

// One operand as it is walked: in the format of the result, with values in its type that hold the factor.
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

template <class T, class Places, Join How>
Made walked(const Side& a, const Side& b, bool zeros) {
  const int64 *u = nullptr, *v = nullptr;
  int64 lines = 0;
  Cuts cuts;
  if constexpr (Places::in_lines) {
    u = a.start(), v = b.start(), lines = a.lines();
    cuts = cuts_in_lines(u, v, lines);
  } else {
    cuts =
        cuts_in_pairs(InPairs(places_of<InPairs>(a)), a.values.size(), InPairs(places_of<InPairs>(b)), b.values.size());
  }
  const Entries<T, Places> left(a), right(b);
  return made_by<T, Places, has_values<How>>(cuts, lines, [&](const auto& out, int64* start, int64 t, int64 to) {
    return MergeTask<T, Places, How>{left, right, out, u, v, start, zeros}(cuts[t], cuts[t + 1], to);
  });
}

// The entries of `a` that keep(e) names, with these values or without any.
template <class T, class Places, bool Values, class F>
Made filtered(const Side& a, const T* values, const F& keep) {
  const int64* from = nullptr;
  int64 lines = 0;
  Cuts cuts;
  if constexpr (Places::in_lines) {
    from = a.start(), lines = a.lines();
    const std::vector<int64> nothing(lines + 1, 0);
    cuts = cuts_in_lines(from, nothing.data(), lines);
  } else {
    for (int64 e = 0; e < a.values.size(); e += kEntries) cuts.push_back({0, e, 0});
    cuts.push_back({0, a.values.size(), 0});
  }
  const Places places(places_of<Places>(a));
  return made_by<T, Places, Values>(cuts, lines, [&](const auto& out, int64* start, int64 t, int64 to) {
    const auto take = [&, out](int64 first, int64 last) {
      for (int64 e = first; e < last; ++e) {
        out.places.set(to, places[e]);
        if constexpr (Values) out.values[to] = values[e];
        to += keep(e);
      }
    };
    if constexpr (Places::in_lines) {
      for (int64 i = cuts[t].line; i < cuts[t + 1].line; ++i) {
        take(from[i], from[i + 1]);
        start[i + 1] = to;
      }
    } else {
      take(cuts[t].a, cuts[t + 1].a);
    }
    return to;
  });
}

// Calls f with the way in which a format names places.
template <class F>
auto with_places(const Side& a, const F& f) {
  if (!entry_format(a.format).pointers) return f(static_cast<InPairs*>(nullptr));
  return f(static_cast<InLines*>(nullptr));
}

inline Matrix matrix_of(const Side& like, Made result) {
  const int64 count = result.values.size();
  return {
      std::make_shared<const Indices>(like.structure->format, like.rows, like.cols, std::move(result.places), count),
      std::move(result.values)};
}

}  // namespace diagsparse::merging
