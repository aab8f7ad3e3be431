// Plans of products of masked diagonals.
#include "formats/mdia/products.hpp"

#include <algorithm>

namespace diagsparse {

namespace {

bool in_triangle(Triangle triangle, int64 offset) {
  return triangle == Triangle::both || (triangle == Triangle::upper ? offset >= 0 : offset <= 0);
}

// Returns the offsets of C, and sets the target of each pair of diagonals in `work`.
std::vector<int64> pair_diagonals(MaskedWork& work, int64 rows, int64 cols, Triangle triangle) {
  const auto inside = [&](int64 offset) { return offset > -rows && offset < cols && in_triangle(triangle, offset); };
  std::vector<int64> offsets;
  for (const MaskedDiagonal& a : work.a) {
    for (const MaskedDiagonal& b : work.b) {
      if (inside(a.offset + b.offset)) offsets.push_back(a.offset + b.offset);
    }
  }
  std::ranges::sort(offsets);
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  work.to.reserve(work.a.size() * work.b.size());
  for (const MaskedDiagonal& a : work.a) {
    for (const MaskedDiagonal& b : work.b) {
      const auto match = std::ranges::lower_bound(offsets, a.offset + b.offset);
      work.to.push_back(inside(a.offset + b.offset) ? static_cast<std::int32_t>(match - offsets.begin()) : -1);
    }
  }
  return offsets;
}

// Drops the diagonals of C without elements.
Array drop_empty(Array mask, std::vector<int64>& offsets, MaskedWork& work) {
  const std::vector<bool> is_selected = columns_in_use(mask);
  if (std::ranges::all_of(is_selected, [](bool selected_column) { return selected_column; })) return mask;
  std::vector<std::int32_t> number(is_selected.size(), -1);
  std::vector<int64> selected;
  for (std::size_t d = 0; d < is_selected.size(); ++d) {
    if (!is_selected[d]) continue;
    number[d] = static_cast<std::int32_t>(selected.size());
    selected.push_back(offsets[d]);
  }
  for (std::int32_t& to : work.to) to = to < 0 ? to : number[to];
  offsets = std::move(selected);
  return select_columns(mask, is_selected);
}

}  // namespace

Plan plan_masked(const Format& format, const Matrix& a, Op op_a, const Matrix& b, Op op_b, const Request& request) {
  for (const Matrix* m : {&a, &b}) {
    if (m->format == format.name) continue;
    throw std::invalid_argument("matmul: a plan of masked diagonals takes two mdia matrices, got " + a.format +
                                " and " + b.format);
  }
  check_types(find_matmul(format.name, request.kernel), a.dtype, b.dtype);  // raises before the work
  Plan plan = begin_plan(a, op_a, b, op_b);
  const auto work = std::make_shared<MaskedWork>();
  work->a = masked_diagonals(*a.structure, op_a);
  work->b = masked_diagonals(*b.structure, op_b);
  const bool half = request.symmetry != Symmetry::none;
  if (half && plan.rows != plan.cols) {
    throw std::invalid_argument("matmul: symmetric storage is for square products, got " + std::to_string(plan.rows) +
                                " x " + std::to_string(plan.cols));
  }
  std::vector<int64> offsets = pair_diagonals(*work, plan.rows, plan.cols, half ? Triangle::upper : request.triangle);
  request.on_stage("diagonals");
  Array mask = masks_of_product(*a.structure, *b.structure, *work, plan.rows, static_cast<int64>(offsets.size()));
  mask = drop_empty(std::move(mask), offsets, *work);
  MaskedCounts counts = count_masked(mask, half && !offsets.empty() && offsets.front() == 0 ? 0 : -1);
  request.on_stage("masks");
  plan.c = mdia_structure(plan.rows, plan.cols, array_of(offsets), std::move(mask), std::move(counts.begin),
                          request.symmetry, counts.all, half ? 2 * counts.all - counts.on_diagonal : counts.all);
  plan.work = work;
  finish_plan(plan, choose_matmul(plan, request.kernel, a.dtype, b.dtype));
  return plan;
}

}  // namespace diagsparse
