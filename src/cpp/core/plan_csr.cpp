// The structure of C = A B for csr: each row's columns, found once and used for any values.
#include <algorithm>

#include "core/matrix.hpp"
#include "core/parallel.hpp"
#include "formats/csr.hpp"

namespace diagsparse {

Plan plan_csr(const Matrix& left, const Matrix& right, const std::string& kernel) {
  Plan plan;
  plan.format = "csr";
  plan.kernel = kernel;
  plan.dtype = product_dtype(left.dtype, right.dtype);
  plan.multiply = find_matmul("csr", kernel);
  plan.rows = left.rows;
  plan.cols = right.cols;
  plan.a_structure = left.structure;
  plan.b_structure = right.structure;
  const int64 *a_ptr = left.index("indptr").as<int64>(), *b_ptr = right.index("indptr").as<int64>();
  const auto *a_col = left.index("indices").as<std::int32_t>(), *b_col = right.index("indices").as<std::int32_t>();

  plan.indptr = Array::zeros(DType::i64, {plan.rows + 1});
  int64* start = plan.indptr.as<int64>();
  const int64 tasks = std::min<int64>(plan.rows, 16 * thread_count()), work = 4 * a_ptr[plan.rows];
  // Calls f(row, columns) with the distinct columns of each of the task's rows.
  const auto visit = [&](int64 task, const auto& f) {
    std::vector<int64> seen(plan.cols, -1);
    std::vector<std::int32_t> columns;
    for (int64 i = plan.rows * task / tasks; i < plan.rows * (task + 1) / tasks; ++i) {
      columns.clear();
      for (int64 e = a_ptr[i]; e < a_ptr[i + 1]; ++e) {
        for (int64 g = b_ptr[a_col[e]]; g < b_ptr[a_col[e] + 1]; ++g) {
          if (seen[b_col[g]] == i) continue;
          seen[b_col[g]] = i;
          columns.push_back(b_col[g]);
        }
      }
      f(i, columns);
    }
  };
  parallel_for(tasks, work, [&](int64 task) {
    visit(task, [&](int64 i, const auto& columns) { start[i + 1] = static_cast<int64>(columns.size()); });
  });
  for (int64 i = 0; i < plan.rows; ++i) start[i + 1] += start[i];
  plan.indices = Array::empty(DType::i32, {start[plan.rows]});
  std::int32_t* indices = plan.indices.as<std::int32_t>();
  parallel_for(tasks, work, [&](int64 task) {
    visit(task, [&](int64 i, auto& columns) {
      std::sort(columns.begin(), columns.end());
      std::copy(columns.begin(), columns.end(), indices + start[i]);
    });
  });
  return plan;
}

}  // namespace diagsparse
