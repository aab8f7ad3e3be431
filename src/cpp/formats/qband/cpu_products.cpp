// Where As Bb + Ab Bs + As Bs has entries, row by row.
#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/column_set.hpp"
#include "cpu/parallel.hpp"
#include "formats/coosr/layout.hpp"
#include "formats/qband/rest_rows.hpp"

namespace diagsparse {

namespace {

RowsOfRest turned(const Indices& rest) {
  const auto* row = rest.at("row").as<std::int32_t>();
  const auto* col = rest.at("col").as<std::int32_t>();
  const int64 count = rest.stored();
  RowsOfRest result{Array::zeros(DType::i64, {rest.cols + 1}), Array::empty(DType::i32, {count}),
                    Array::empty(DType::i32, {count}), Array::empty(DType::i64, {count})};
  auto* const next = result.indptr.as<int64>();
  for (int64 e = 0; e < count; ++e) ++next[col[e] + 1];
  for (int64 j = 0; j < rest.cols; ++j) next[j + 1] += next[j];
  for (int64 e = 0; e < count; ++e) {
    const int64 to = next[col[e]]++;
    result.rows.as<std::int32_t>()[to] = col[e];
    result.columns.as<std::int32_t>()[to] = row[e];
    result.order.as<int64>()[to] = e;
  }
  for (int64 j = rest.cols; j > 0; --j) next[j] = next[j - 1];  // each has come to where the next line begins
  next[0] = 0;
  return result;
}

// The columns that rows of a product have, of some neighbouring rows.
struct Found {
  std::vector<std::int32_t> beside, onto;
  int64 products = 0;
};

class RestFinder {
 public:
  RestFinder(const QuasiBand& a, const QuasiBand& b, const Layout& bands)
      : left_(spans_of(a.bands, a.op)),
        right_(spans_of(b.bands, b.op)),
        a_(*rows_of_rest(a)),
        b_(*rows_of_rest(b)),
        cols_(b.cols()),
        inner_(b.rows()),
        bands_(strips_of(bands.spans)) {}

  // Rows [begin, end); beside[i + 1] and onto[i + 1] become the counts of row i.
  Found find(int64 begin, int64 end, int64* beside, int64* onto) const {
    Found found;
    ColumnSet row(cols_);
    std::vector<std::int32_t> columns;
    for (int64 i = begin; i < end; ++i) {
      if (i % kRowsPerCheckpoint == 0) checkpoint();
      found.products += insert(i, row);
      columns.clear();
      row.move_to(columns);
      const std::size_t before = found.beside.size(), before_onto = found.onto.size();
      split(i, columns, found);
      beside[i + 1] = static_cast<int64>(found.beside.size() - before);
      onto[i + 1] = static_cast<int64>(found.onto.size() - before_onto);
    }
    return found;
  }

 private:
  // Ascending columns of row i to those on the bands of C and those beside them, from strip to strip.
  void split(int64 i, const std::vector<std::int32_t>& columns, Found& found) const {
    auto next = columns.begin();
    for (const Strip& strip : bands_) {
      const auto on = std::find_if(next, columns.end(), [&](std::int32_t j) { return j - i >= strip.low; });
      found.beside.insert(found.beside.end(), next, on);
      next = std::find_if(on, columns.end(), [&](std::int32_t j) { return j - i > strip.high; });
      found.onto.insert(found.onto.end(), on, next);
      if (next == columns.end()) return;
    }
    found.beside.insert(found.beside.end(), next, columns.end());
  }

  int64 insert(int64 i, ColumnSet& row) const {
    int64 products = 0;
    const auto insert_rows = [&](int64 first, int64 last) {  // of Bs
      const int64 from = b_.pointers()[first], count = b_.pointers()[last] - from;
      if (count > 0) row.insert(b_.column() + from, count);
      products += count;
    };
    for (int64 e = a_.pointers()[i]; e < a_.pointers()[i + 1]; ++e) {
      const int64 k = a_.column()[e];
      for_each_crossed(right_.strips, k, cols_, [&](const Strip&, int64 first, int64 last) {
        row.insert_run(k + first, k + last);
        products += last - first;
      });
      insert_rows(k, k + 1);
    }
    for_each_crossed(left_.strips, i, inner_,
                     [&](const Strip&, int64 first, int64 last) { insert_rows(i + first, i + last); });
    return products;
  }

  const Operand left_, right_;
  const RowsOfRest &a_, &b_;
  const int64 cols_, inner_;
  const std::vector<Strip> bands_;
};

Array pointers_from_counts(Array counts) {
  auto* const at = counts.as<int64>();
  for (int64 i = 1; i < counts.size(); ++i) at[i] += at[i - 1];
  return counts;
}

Array copied(const std::vector<std::int32_t>& from, Array to, int64 first) {
  std::copy(from.begin(), from.end(), to.as<std::int32_t>() + first);
  return to;
}

}  // namespace

std::shared_ptr<const RowsOfRest> rows_of_rest(const QuasiBand& a) {
  return a.rest.cache().get<RowsOfRest>(a.op.transposed ? "columns of the rest" : "rows of the rest", [&] {
    const RowsOfRest as_it_is{a.rest.at("indptr"), a.rest.at("row"), a.rest.at("col"), {}};
    const auto result = std::make_shared<RowsOfRest>(a.op.transposed ? turned(a.rest) : as_it_is);
    for (int64 i = 0; i < a.rows(); ++i) {
      result->longest = std::max(result->longest, result->pointers()[i + 1] - result->pointers()[i]);
    }
    return result;
  });
}

std::pair<int64, int64> RestOnCpu::columns(int64 begin, int64 end, const int64* indptr,
                                           const std::int32_t* columns) const {
  int64 low = std::numeric_limits<int64>::max(), high = -1;
  const auto look = [&](const int64* pointers, const std::int32_t* of_rows) {
    for (int64 i = begin; i < end; ++i) {
      if (pointers[i] == pointers[i + 1]) continue;
      low = std::min<int64>(low, of_rows[pointers[i]]), high = std::max<int64>(high, of_rows[pointers[i + 1] - 1]);
    }
  };
  look(indptr, columns);
  look(onto_indptr.as<int64>(), onto_columns.as<std::int32_t>());
  return {low, high};
}

namespace {

// Rows with equal work: each entry of As meets the diagonals of B, each row of Bs those of A.
std::vector<int64> shares_of_rows(const QuasiBand& a, const QuasiBand& b, const RowsOfRest& rows_of_a) {
  const int64 rows = a.rows(), tasks = std::min<int64>(rows, 16 * concurrent_tasks());
  const auto diagonals = [](const QuasiBand& x) { return static_cast<int64>(x.bands.spans.size()); };
  const int64 each = diagonals(b) + 1, any = b.entries() * diagonals(a) / std::max<int64>(1, b.rows()) + 1;
  const auto before = [&](int64 i) { return rows_of_a.pointers()[i] * each + i * any; };
  std::vector<int64> shares;
  for (int64 task = 0; task <= tasks; ++task) shares.push_back(border(rows, before(rows), tasks, task, before));
  return shares;
}

}  // namespace

RestOfProduct rest_of_product(const QuasiBand& a, const QuasiBand& b, const Layout& bands, int64 item) {
  const int64 rows = a.rows();
  const auto work = std::make_shared<RestOnCpu>();
  work->a = rows_of_rest(a);
  work->b = rows_of_rest(b);
  const RestFinder finder(a, b, bands);
  Array beside = Array::zeros(DType::i64, {rows + 1}), onto = Array::zeros(DType::i64, {rows + 1});
  work->shares = shares_of_rows(a, b, *work->a);
  const std::vector<int64>& shares = work->shares;
  const auto tasks = static_cast<int64>(shares.size()) - 1;
  const int64 expected = 16 * (a.entries() + b.entries()) + rows;
  std::vector<Found> found(tasks);
  parallel_for(tasks, expected, [&](int64 task) {
    found[task] = finder.find(shares[task], shares[task + 1], beside.as<int64>(), onto.as<int64>());
  });
  beside = pointers_from_counts(beside);
  work->onto_indptr = pointers_from_counts(onto);
  const auto* starts = beside.as<int64>();
  const Array col = Array::empty(DType::i32, {starts[rows]}), row = Array::empty(DType::i32, {starts[rows]});
  work->onto_columns = Array::empty(DType::i32, {work->onto_indptr.as<int64>()[rows]});
  parallel_for(tasks, expected, [&](int64 task) {
    const int64 begin = shares[task], end = shares[task + 1];
    copied(found[task].beside, col, starts[begin]);
    copied(found[task].onto, work->onto_columns, work->onto_indptr.as<int64>()[begin]);
    for (int64 i = begin; i < end; ++i) {
      std::fill(row.as<std::int32_t>() + starts[i], row.as<std::int32_t>() + starts[i + 1],
                static_cast<std::int32_t>(i));
    }
  });
  int64 widest = 0;  // of the sums of a task
  for (int64 task = 0; task < tasks; ++task) {
    work->products += found[task].products;
    const auto [low, high] = work->columns(shares[task], shares[task + 1], starts, col.as<std::int32_t>());
    widest = std::max(widest, high - low + 1);
  }
  const int64 diagonals = static_cast<int64>(b.bands.spans.size());
  const int64 bands_in_rows = in_rows(b.rows(), diagonals, a.entries()) ? b.rows() * diagonals * item : 0;
  work->beside = std::max(concurrent_tasks() * ColumnSet(b.cols()).nbytes() + 4 * starts[rows],
                          concurrent_tasks() * widest * item + bands_in_rows);
  std::vector<Part> arrays{{"row", row}, {"col", col}, {"indptr", beside}};
  return {std::make_shared<const Indices>(coosr.name, rows, b.cols(), std::move(arrays), col.size()), work};
}

}  // namespace diagsparse
