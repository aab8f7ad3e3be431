// The structure of As Bb + Ab Bs + As Bs, computed row by row.
#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/column_set.hpp"
#include "cpu/parallel.hpp"
#include "formats/coosr/layout.hpp"
#include "formats/qband/rest_rows.hpp"

namespace diagsparse {

namespace {

RowsOfRest rows_of_transpose(const Indices& rest) {
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
  for (int64 j = rest.cols; j > 0; --j)
    next[j] = next[j - 1];  // each pointer has advanced to the start of the next line
  next[0] = 0;
  return result;
}

// The columns of the product in the rows of a task, outside of the bands of C and on them.
struct TaskColumns {
  std::vector<std::int32_t> outside, on_bands;
  int64 products = 0;
};

class RestColumns {
 public:
  RestColumns(const QuasiBand& a, const QuasiBand& b, const Layout& bands)
      : left_(spans_of(a.bands, a.op)),
        right_(spans_of(b.bands, b.op)),
        a_(*rows_of_rest(a)),
        b_(*rows_of_rest(b)),
        cols_(b.cols()),
        inner_(b.rows()),
        bands_(strips_of(bands.spans)) {}

  // Returns the columns of rows [begin, end), and sets outside[i + 1] and on_bands[i + 1] to the counts of row i.
  TaskColumns compute(int64 begin, int64 end, int64* outside, int64* on_bands) const {
    TaskColumns task_columns;
    ColumnSet row(cols_);
    std::vector<std::int32_t> columns;
    for (int64 i = begin; i < end; ++i) {
      if (i % kRowsPerCheckpoint == 0) checkpoint();
      task_columns.products += insert(i, row);
      columns.clear();
      row.move_to(columns);
      const std::size_t before = task_columns.outside.size(), on_bands_before = task_columns.on_bands.size();
      split(i, columns, task_columns);
      outside[i + 1] = static_cast<int64>(task_columns.outside.size() - before);
      on_bands[i + 1] = static_cast<int64>(task_columns.on_bands.size() - on_bands_before);
    }
    return task_columns;
  }

 private:
  // Divides the ascending columns of row i into those on the bands of C and those outside of them, strip by strip.
  void split(int64 i, const std::vector<std::int32_t>& columns, TaskColumns& task_columns) const {
    auto next = columns.begin();
    for (const Strip& strip : bands_) {
      const auto on = std::find_if(next, columns.end(), [&](std::int32_t j) { return j - i >= strip.low; });
      task_columns.outside.insert(task_columns.outside.end(), next, on);
      next = std::find_if(on, columns.end(), [&](std::int32_t j) { return j - i > strip.high; });
      task_columns.on_bands.insert(task_columns.on_bands.end(), on, next);
      if (next == columns.end()) return;
    }
    task_columns.outside.insert(task_columns.outside.end(), next, columns.end());
  }

  int64 insert(int64 i, ColumnSet& row) const {
    int64 products = 0;
    const auto insert_rows = [&](int64 first, int64 last) {  // rows of Bs
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

Array copy_to(const std::vector<std::int32_t>& from, Array to, int64 first) {
  std::copy(from.begin(), from.end(), to.as<std::int32_t>() + first);
  return to;
}

}  // namespace

std::shared_ptr<const RowsOfRest> rows_of_rest(const QuasiBand& a) {
  return a.rest.cache().get<RowsOfRest>(a.op.transposed ? "columns of the rest" : "rows of the rest", [&] {
    const RowsOfRest unchanged{a.rest.at("indptr"), a.rest.at("row"), a.rest.at("col"), {}};
    const auto result = std::make_shared<RowsOfRest>(a.op.transposed ? rows_of_transpose(a.rest) : unchanged);
    for (int64 i = 0; i < a.rows(); ++i) {
      result->longest = std::max(result->longest, result->pointers()[i + 1] - result->pointers()[i]);
    }
    return result;
  });
}

std::pair<int64, int64> RestOnCpu::columns(int64 begin, int64 end, const int64* indptr,
                                           const std::int32_t* columns) const {
  int64 low = std::numeric_limits<int64>::max(), high = -1;
  const auto extend = [&](const int64* pointers, const std::int32_t* row_columns) {
    for (int64 i = begin; i < end; ++i) {
      if (pointers[i] == pointers[i + 1]) continue;
      low = std::min<int64>(low, row_columns[pointers[i]]),
      high = std::max<int64>(high, row_columns[pointers[i + 1] - 1]);
    }
  };
  extend(indptr, columns);
  extend(on_bands_indptr.as<int64>(), on_bands_columns.as<std::int32_t>());
  return {low, high};
}

namespace {

// Divides the rows into ranges with equal work: each entry of As is multiplied by all diagonals of B, and each row of
// Bs by those of A.
std::vector<int64> divide_rows(const QuasiBand& a, const QuasiBand& b, const RowsOfRest& rows_of_a) {
  const int64 rows = a.rows(), tasks = std::min<int64>(rows, 16 * concurrent_tasks());
  const auto diagonals = [](const QuasiBand& x) { return static_cast<int64>(x.bands.spans.size()); };
  const int64 per_entry = diagonals(b) + 1, per_row = b.entries() * diagonals(a) / std::max<int64>(1, b.rows()) + 1;
  const auto before = [&](int64 i) { return rows_of_a.pointers()[i] * per_entry + i * per_row; };
  std::vector<int64> row_boundaries;
  for (int64 task = 0; task <= tasks; ++task) row_boundaries.push_back(border(rows, before(rows), tasks, task, before));
  return row_boundaries;
}

}  // namespace

RestOfProduct rest_of_product(const QuasiBand& a, const QuasiBand& b, const Layout& bands, int64 item) {
  const int64 rows = a.rows();
  const auto work = std::make_shared<RestOnCpu>();
  work->a = rows_of_rest(a);
  work->b = rows_of_rest(b);
  const RestColumns rest_columns(a, b, bands);
  Array outside = Array::zeros(DType::i64, {rows + 1}), on_bands = Array::zeros(DType::i64, {rows + 1});
  work->row_boundaries = divide_rows(a, b, *work->a);
  const std::vector<int64>& row_boundaries = work->row_boundaries;
  const auto tasks = static_cast<int64>(row_boundaries.size()) - 1;
  const int64 expected = 16 * (a.entries() + b.entries()) + rows;
  std::vector<TaskColumns> task_columns(tasks);
  parallel_for(tasks, expected, [&](int64 task) {
    task_columns[task] =
        rest_columns.compute(row_boundaries[task], row_boundaries[task + 1], outside.as<int64>(), on_bands.as<int64>());
  });
  outside = pointers_from_counts(outside);
  work->on_bands_indptr = pointers_from_counts(on_bands);
  const auto* starts = outside.as<int64>();
  const Array col = Array::empty(DType::i32, {starts[rows]}), row = Array::empty(DType::i32, {starts[rows]});
  work->on_bands_columns = Array::empty(DType::i32, {work->on_bands_indptr.as<int64>()[rows]});
  parallel_for(tasks, expected, [&](int64 task) {
    const int64 begin = row_boundaries[task], end = row_boundaries[task + 1];
    copy_to(task_columns[task].outside, col, starts[begin]);
    copy_to(task_columns[task].on_bands, work->on_bands_columns, work->on_bands_indptr.as<int64>()[begin]);
    for (int64 i = begin; i < end; ++i) {
      std::fill(row.as<std::int32_t>() + starts[i], row.as<std::int32_t>() + starts[i + 1],
                static_cast<std::int32_t>(i));
    }
  });
  int64 widest = 0;  // accumulators of a task
  for (int64 task = 0; task < tasks; ++task) {
    work->products += task_columns[task].products;
    const auto [low, high] =
        work->columns(row_boundaries[task], row_boundaries[task + 1], starts, col.as<std::int32_t>());
    widest = std::max(widest, high - low + 1);
  }
  const int64 diagonals = static_cast<int64>(b.bands.spans.size());
  const int64 band_rows_nbytes = use_band_rows(b.rows(), diagonals, a.entries()) ? b.rows() * diagonals * item : 0;
  work->workspace = std::max(concurrent_tasks() * ColumnSet(b.cols()).nbytes() + 4 * starts[rows],
                             concurrent_tasks() * widest * item + band_rows_nbytes);
  std::vector<Part> arrays{{"row", row}, {"col", col}, {"indptr", outside}};
  return {std::make_shared<const Indices>(coosr.name, rows, b.cols(), std::move(arrays), col.size()), work};
}

}  // namespace diagsparse
