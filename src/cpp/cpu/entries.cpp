// Between csr, csc and coo on the CPU.
#include <algorithm>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/convert.hpp"
#include "core/interrupt.hpp"

namespace diagsparse {

namespace {

constexpr int64 kUnasked = 1 << 16;  // entries between two questions whether to go on

// Entries of op(A) in the order in which A stores them: `major` ascends (rows, of csc columns), `minor` in each line.
struct Entries {
  Array major, minor;
  bool by_column;  // whether `major` are columns of op(A)
};

Array lines_of(const Array& indptr, int64 count) {
  Array lines = Array::empty(DType::i32, {count});
  const int64* start = indptr.as<int64>();
  for (int64 i = 0; i + 1 < indptr.size(); ++i) {
    std::fill(lines.as<std::int32_t>() + start[i], lines.as<std::int32_t>() + start[i + 1], static_cast<int>(i));
  }
  return lines;
}

// Where each line begins, of ascending line numbers.
Array pointers_of(const Array& lines, int64 extent) {
  Array indptr = Array::zeros(DType::i64, {extent + 1});
  int64* start = indptr.as<int64>();
  const auto* line = lines.as<std::int32_t>();
  for (int64 e = 0; e < lines.size(); ++e) ++start[line[e] + 1];
  for (int64 i = 0; i < extent; ++i) start[i + 1] += start[i];
  return indptr;
}

Entries entries_of(const Matrix& a, Op op) {
  if (a.format == "coo") return {a.index("row"), a.index("col"), op.transposed};
  const bool columns = a.format == "csc";
  return {lines_of(a.index("indptr"), a.values.size()), a.index("indices"), columns != op.transposed};
}

template <class T>
Array conjugated(const Array& values) {
  Array made = Array::empty(values.dtype, values.shape);
  std::transform(values.as<T>(), values.as<T>() + values.size(), made.as<T>(),
                 [](T v) { return conjugate_if(true, v); });
  return made;
}

// The entries with `minor` (below `extent`) as the major index: a counting sort, which leaves the order of the others.
template <class T>
Entries turned(const Entries& given, Array& values, int64 extent) {
  const int64 count = values.size();
  Entries made{Array::empty(DType::i32, {count}), Array::empty(DType::i32, {count}), !given.by_column};
  Array sorted = Array::empty(values.dtype, {count});
  const auto *major = given.major.as<std::int32_t>(), *minor = given.minor.as<std::int32_t>();
  std::vector<int64> next(extent + 1, 0);
  for (int64 e = 0; e < count; ++e) ++next[minor[e] + 1];
  for (int64 i = 0; i < extent; ++i) next[i + 1] += next[i];
  for (int64 e = 0; e < count; ++e) {
    if (e % kUnasked == 0) checkpoint();
    const int64 to = next[minor[e]]++;
    made.major.as<std::int32_t>()[to] = minor[e];
    made.minor.as<std::int32_t>()[to] = major[e];
    sorted.as<T>()[to] = values.as<T>()[e];
  }
  values = std::move(sorted);
  return made;
}

}  // namespace

Matrix entries_across(const Matrix& a, Op op, const Format& format) {
  const int64 rows = op.transposed ? a.cols : a.rows, cols = op.transposed ? a.rows : a.cols;
  const std::string target = format.name;
  Entries entries = entries_of(a, op);
  Array values = a.values;
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (op.conjugated) values = conjugated<T>(values);
    const bool by_column = target == "csc";
    if (entries.by_column != by_column) entries = turned<T>(entries, values, by_column ? cols : rows);
  });
  std::vector<Part> parts;
  if (target == "coo") parts = {{"row", entries.major}, {"col", entries.minor}};
  else parts = {{"indices", entries.minor}, {"indptr", pointers_of(entries.major, target == "csc" ? cols : rows)}};
  return {std::make_shared<const Indices>(format.name, rows, cols, std::move(parts), values.size()), values};
}

}  // namespace diagsparse
