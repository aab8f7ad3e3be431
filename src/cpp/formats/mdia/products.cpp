// Plans of products of masked diagonals.
#include "formats/mdia/products.hpp"

#include <algorithm>

namespace diagsparse {

namespace {

bool in_triangle(Triangle triangle, int64 offset) {
  return triangle == Triangle::both || (triangle == Triangle::upper ? offset >= 0 : offset <= 0);
}

// The offsets of the products of two diagonals, ascending.
std::vector<int64> sums_of_offsets(const MaskedWork& work, int64 rows, int64 cols, Triangle triangle) {
  std::vector<int64> offsets;
  for (const MaskedDiagonal& a : work.a) {
    for (const MaskedDiagonal& b : work.b) {
      const int64 offset = a.offset + b.offset;
      if (offset > -rows && offset < cols && in_triangle(triangle, offset)) offsets.push_back(offset);
    }
  }
  std::ranges::sort(offsets);
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

// Sets the target of each pair of diagonals.
void set_targets(MaskedWork& work, const std::vector<int64>& offsets) {
  work.to.clear();
  work.to.reserve(work.a.size() * work.b.size());
  for (const MaskedDiagonal& a : work.a) {
    for (const MaskedDiagonal& b : work.b) {
      const auto match = std::ranges::lower_bound(offsets, a.offset + b.offset);
      const bool stored = match != offsets.end() && *match == a.offset + b.offset;
      work.to.push_back(stored ? static_cast<std::int32_t>(match - offsets.begin()) : -1);
    }
  }
}

}  // namespace

void plan_masked(Plan& plan, const Matrix& a, const Matrix& b, const Request& request) {
  const auto work = std::make_shared<MaskedWork>();
  work->a = masked_diagonals(*a.structure, plan.op_a);
  work->b = masked_diagonals(*b.structure, plan.op_b);
  const bool half = request.symmetry != Symmetry::none;
  if (half) check_square(mdia.name, "symmetric storage", plan.rows, plan.cols);
  const Triangle triangle = half ? Triangle::upper : request.triangle;
  std::vector<int64> offsets = sums_of_offsets(*work, plan.rows, plan.cols, triangle);
  set_targets(*work, offsets);
  request.on_stage("diagonals");
  Array mask = masks_of_product(*a.structure, *b.structure, *work, plan.rows, static_cast<int64>(offsets.size()));
  const std::size_t candidates = offsets.size();
  mask = drop_empty(std::move(mask), offsets);
  if (offsets.size() < candidates) set_targets(*work, offsets);
  plan.c = mdia_structure(plan.rows, plan.cols, offsets, std::move(mask), request.symmetry);
  request.on_stage("masks");
  plan.work = work;
}

}  // namespace diagsparse
