// The structure of C = A B for csr: each row's columns, found once and used for any values.
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/plan.hpp"
#include "cpu/parallel.hpp"
#include "formats/csr.hpp"

namespace diagsparse {

RowsOfProduct product_rows(const Matrix& left, const Matrix& right) {
  const int64 rows = left.rows, cols = right.cols;
  const int64 *a_ptr = left.index("indptr").as<int64>(), *b_ptr = right.index("indptr").as<int64>();
  const auto *a_col = left.index("indices").as<std::int32_t>(), *b_col = right.index("indices").as<std::int32_t>();

  Array indptr = Array::zeros(DType::i64, {rows + 1});
  int64* start = indptr.as<int64>();
  const int64 tasks = std::min<int64>(rows, 16 * concurrent_tasks()), work = 4 * a_ptr[rows];
  std::vector<std::vector<std::int32_t>> found(tasks);  // the columns of each task's rows, row after row
  std::vector<int64> products(tasks);
  parallel_for(tasks, work, [&](int64 task) {
    std::vector<std::int32_t>& columns = found[task];
    std::vector<std::int32_t> seen(cols, -1);  // the last row (of this task) that had this column
    const int64 first = rows * task / tasks;
    int64 count = 0;
    for (int64 i = first; i < rows * (task + 1) / tasks; ++i) {
      const std::size_t begin = columns.size();
      for (int64 e = a_ptr[i]; e < a_ptr[i + 1]; ++e) {
        count += b_ptr[a_col[e] + 1] - b_ptr[a_col[e]];
        for (int64 g = b_ptr[a_col[e]]; g < b_ptr[a_col[e] + 1]; ++g) {
          if (seen[b_col[g]] == i - first) continue;
          seen[b_col[g]] = static_cast<std::int32_t>(i - first);
          columns.push_back(b_col[g]);
        }
      }
      if (!std::is_sorted(columns.begin() + begin, columns.end())) std::sort(columns.begin() + begin, columns.end());
      start[i + 1] = static_cast<int64>(columns.size() - begin);
    }
    products[task] = count;
  });
  for (int64 i = 0; i < rows; ++i) start[i + 1] += start[i];
  Array indices = Array::empty(DType::i32, {start[rows]});
  std::int32_t* columns = indices.as<std::int32_t>();
  parallel_for(tasks, work, [&](int64 task) {
    std::copy(found[task].begin(), found[task].end(), columns + start[rows * task / tasks]);
  });
  std::vector<Part> parts{{"indices", indices}, {"indptr", indptr}};
  return {std::make_shared<const Indices>(csr.name, rows, cols, std::move(parts), indices.size()),
          std::accumulate(products.begin(), products.end(), int64{0})};
}

}  // namespace diagsparse
