// Sums and element-wise products of csr, csc and coo on the CPU: two lists of sorted entries are walked side by side.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/convert.hpp"
#include "core/elementwise.hpp"
#include "cpu/parallel.hpp"
#include "cpu/values.hpp"

namespace diagsparse {

namespace {

constexpr int64 kEntries = 1 << 15;  // of both operands and their lines, a task

// The places of entries in lines of csr or csc, and where they are written to.
struct InLines {
  using Key = std::int32_t;
  std::int32_t* index;

  static std::vector<const char*> names() { return {"indices"}; }
  explicit InLines(const std::vector<Array>& arrays) : index(arrays[0].as<std::int32_t>()) {}
  Key operator[](int64 e) const { return index[e]; }
  void set(int64 e, Key key) const { index[e] = key; }
};

// The places of entries in coo: one line of pairs.
struct InPairs {
  using Key = int64;
  std::int32_t *row, *col;

  static std::vector<const char*> names() { return {"row", "col"}; }
  explicit InPairs(const std::vector<Array>& arrays)
      : row(arrays[0].as<std::int32_t>()), col(arrays[1].as<std::int32_t>()) {}
  Key operator[](int64 e) const { return static_cast<int64>(row[e]) << 32 | col[e]; }
  void set(int64 e, Key key) const {
    row[e] = static_cast<std::int32_t>(key >> 32);
    col[e] = static_cast<std::int32_t>(key);
  }
};

template <class T, class Places>
struct Entries {
  Places places;
  T* values;

  Entries(const std::vector<Array>& arrays, const Array& values) : places(arrays), values(values.as<T>()) {}
};

// What is made of two entries of one place, of one of `a` alone and of one of `b` alone.
enum class Join { sum, difference, product };

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

// A task: the entries of a and b from one cut to the next, to those of `out` from cut.a + cut.b on. Returns how many of
// them stay. `start` (null in pairs) of each line is counted from the cut.
template <class T, class Places, Join How>
struct Walk {
  Entries<T, Places> a, b, out;
  const int64 *a_start, *b_start;
  int64* start;
  bool zeros;

  int64 operator()(const Cut& cut, const Cut& end) const {
    const int64 first = cut.a + cut.b;
    int64 to = first;
    if (!start) return walk(*this, cut.a, end.a, cut.b, end.b, to) - first;
    const Walk here = *this;  // so that nothing of it is read again
    for (int64 i = cut.line; i < end.line; ++i) {
      to = walk(here, here.a_start[i], here.a_start[i + 1], here.b_start[i], here.b_start[i + 1], to);
      here.start[i + 1] = to - first;
    }
    return to - first;
  }

 private:
  [[gnu::always_inline]] static int64 walk(const Walk& w, int64 i, int64 i_end, int64 j, int64 j_end, int64 to) {
    const bool keeps_lone = w.zeros && How != Join::product;
    const auto put = [&w, &to](auto key, T value, bool stays) {
      w.out.places.set(to, key);
      w.out.values[to] = value;
      to += stays || !is_zero(value);
    };
    const auto put_a = [&](auto key) { put(key, join_left<How>(w.a.values[i++]), keeps_lone); };
    const auto put_b = [&](auto key) { put(key, join_right<How>(w.b.values[j++]), keeps_lone); };
    while (i < i_end && j < j_end) {
      const auto x = w.a.places[i], y = w.b.places[j];
      if (x == y) {
        put(x, join<How>(w.a.values[i++], w.b.values[j++]), w.zeros);
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

int64 tasks_of(int64 work) { return work / kEntries + 1; }

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
std::vector<Cut> cuts_in_lines(const int64* a, const int64* b, int64 lines) {
  const auto work = [=](int64 line) { return a[line] + b[line] + line; };
  const int64 tasks = tasks_of(work(lines));
  std::vector<Cut> cuts;
  for (int64 t = 0; t <= tasks; ++t) {
    const int64 wanted = work(lines) / tasks * t;
    const int64 line = t == tasks ? lines : bisect(0, lines, [&](int64 i) { return work(i) < wanted; });
    cuts.push_back({line, a[line], b[line]});
  }
  return cuts;
}

// Cuts that leave entries of one place together.
std::vector<Cut> cuts_in_pairs(const InPairs& a, int64 a_count, const InPairs& b, int64 b_count) {
  const int64 tasks = tasks_of(a_count + b_count);
  std::vector<Cut> cuts;
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

// The arrays without the gaps behind what each task has kept of its share: task t's begins at ends[t].
std::vector<Array> closed_up(const std::vector<Array>& loose, const std::vector<Cut>& cuts,
                             const std::vector<int64>& ends) {
  const int64 total = cuts.back().a + cuts.back().b, count = ends.back();
  if (count == total) return loose;
  std::vector<Array> made;
  for (const Array& array : loose) made.push_back(Array::empty(array.dtype, {count}));
  parallel_for(static_cast<int64>(ends.size()) - 1, count, [&](int64 t) {
    const int64 from = cuts[t].a + cuts[t].b, kept = ends[t + 1] - ends[t];
    for (std::size_t k = 0; k < loose.size(); ++k) {
      const int64 item = item_size(loose[k].dtype);
      std::memcpy(made[k].as<char>() + ends[t] * item, loose[k].as<char>() + from * item, kept * item);
    }
  });
  return made;
}

// One operand as it is walked: in the format of the result, with values in its type that hold the factor.
struct Side : Matrix {
  Side(const EntryTerm& t, const Format& format, DType type, bool subtracted = false) : Matrix(*t.matrix) {
    const Scalar factor = subtracted ? -t.factor : t.factor;
    Op op = t.op;
    if (this->format != format.name || op.transposed) {
      Matrix::operator=(entries_across(*this, op, format));
      op = {};
    }
    if (dtype == type && !op.conjugated && factor == 1.0) return;
    Matrix::operator=({structure, values_as(type, values, op.conjugated, factor)});
  }
  template <class Places>
  std::vector<Array> places() const {
    std::vector<Array> all;
    for (const char* name : Places::names()) all.push_back(index(name));
    return all;
  }
};

// What both operands make: the arrays of places, then the values. `start` of the lines is written where there are any.
template <class T, class Places, Join How>
std::vector<Array> walked(const Side& a, const Side& b, const std::vector<Cut>& cuts, int64* start, bool zeros) {
  const int64 tasks = static_cast<int64>(cuts.size()) - 1, total = cuts.back().a + cuts.back().b;
  std::vector<Array> loose;  // each task has room for all of its entries
  for (std::size_t k = 0; k < Places::names().size(); ++k) loose.push_back(Array::empty(DType::i32, {total}));
  loose.push_back(Array::empty(dtype_of<T>(), {total}));
  const auto start_of = [&](const Side& x) { return start ? x.index("indptr").as<int64>() : nullptr; };
  const Walk<T, Places, How> walk{{a.places<Places>(), a.values},
                                  {b.places<Places>(), b.values},
                                  {loose, loose.back()},
                                  start_of(a),
                                  start_of(b),
                                  start,
                                  zeros};
  std::vector<int64> ends(tasks + 1, 0);
  parallel_for(tasks, 4 * (total + cuts.back().line), [&](int64 t) { ends[t + 1] = walk(cuts[t], cuts[t + 1]); });
  for (int64 t = 0; t < tasks; ++t) ends[t + 1] += ends[t];
  if (start) {
    parallel_for(tasks, cuts.back().line, [&](int64 t) {
      for (int64 i = cuts[t].line; i < cuts[t + 1].line; ++i) start[i + 1] += ends[t];
    });
  }
  return closed_up(loose, cuts, ends);
}

template <class T, Join How>
Matrix walked_as(const Format& format, int64 rows, int64 cols, const Side& a, const Side& b, bool zeros) {
  if (&format == &format_of("coo")) {
    const InPairs x(a.places<InPairs>()), y(b.places<InPairs>());
    const std::vector<Cut> cuts = cuts_in_pairs(x, a.values.size(), y, b.values.size());
    std::vector<Array> made = walked<T, InPairs, How>(a, b, cuts, nullptr, zeros);
    std::vector<Part> parts{{"row", made[0]}, {"col", made[1]}};
    return {std::make_shared<const Indices>(format.name, rows, cols, std::move(parts), made[2].size()), made[2]};
  }
  const Array &u = a.index("indptr"), &v = b.index("indptr");
  Array indptr = Array::empty(DType::i64, {u.size()});
  indptr.as<int64>()[0] = 0;
  const std::vector<Cut> cuts = cuts_in_lines(u.as<int64>(), v.as<int64>(), u.size() - 1);
  std::vector<Array> made = walked<T, InLines, How>(a, b, cuts, indptr.as<int64>(), zeros);
  return compressed(format, rows, cols, made[0], indptr, made[1]);
}

// A matrix that stores nothing.
Matrix nothing(const Format& format, int64 rows, int64 cols, DType dtype) {
  const Matrix csr = compressed(*common, rows, cols, Array::empty(DType::i32, {0}),
                                Array::zeros(DType::i64, {rows + 1}), Array::empty(dtype, {0}));
  return entries_across(csr, {}, format);
}

// Values on one structure: nothing has to be walked. Nullopt where zeros would have to go.
template <class T, Join How>
std::optional<Matrix> side_by_side(const Matrix& a, const Matrix& b, bool zeros) {
  const int64 count = a.values.size(), tasks = (count + kEntries - 1) / kEntries;
  Array values = Array::empty(a.dtype, {count});
  const T *u = a.values.as<T>(), *v = b.values.as<T>();
  T* to = values.as<T>();
  std::vector<int64> lost(tasks);
  parallel_for(tasks, count, [&](int64 t) {
    const int64 first = t * kEntries, last = std::min(count, first + kEntries);
    for (int64 e = first; e < last; ++e) to[e] = join<How>(u[e], v[e]);
    if (!zeros) lost[t] = std::count_if(to + first, to + last, [](T x) { return is_zero(x); });
  });
  if (std::any_of(lost.begin(), lost.end(), [](int64 n) { return n > 0; })) return std::nullopt;
  return Matrix(a.structure, std::move(values));
}

template <class T, Join How>
Matrix joined(const Format& format, int64 rows, int64 cols, const Side& a, const Side& b, bool zeros) {
  if (a.structure->same_as(*b.structure)) {
    if (std::optional<Matrix> made = side_by_side<T, How>(a, b, zeros)) return *made;
  }
  return walked_as<T, How>(format, rows, cols, a, b, zeros);
}

}  // namespace

Matrix merged(const std::string& name, int64 rows, int64 cols, const std::vector<EntryTerm>& terms, Merge how,
              bool zeros, DType dtype) {
  const Format& format = format_of(name);
  if (terms.empty() || terms.size() > 2) throw std::logic_error("merged: one term or two");
  const Matrix none = terms.size() == 1 ? nothing(format, rows, cols, dtype) : Matrix();
  const EntryTerm second = terms.size() == 1 ? EntryTerm{&none, {}, 1.0} : terms[1];
  const bool subtracted = how == Merge::sum && second.factor == -1.0;  // without a pass over its values
  const Side a(terms[0], format, dtype), b(second, format, dtype, subtracted);
  return with_value_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if (how == Merge::product) return joined<T, Join::product>(format, rows, cols, a, b, zeros);
    if (subtracted) return joined<T, Join::difference>(format, rows, cols, a, b, zeros);
    return joined<T, Join::sum>(format, rows, cols, a, b, zeros);
  });
}

}  // namespace diagsparse
