// Finds the grid of a matrix of diagonals.
#include "kernels/triangles/rows.cuh"
#include "kernels/triangles/tiling.hpp"

namespace diagsparse::cuda::triangles {

namespace {

// Counts the nonzeros of a diagonal at `count` positions of each line, from `first` on.
template <class T>
__global__ void __launch_bounds__(kBlock)
    count_positions(const T* values, Rows rows, int64 line, int64 first, int64 count, int64 distance, unsigned* found) {
  const int64 item = thread_index(), q = item / count * line + first + item % count;
  if (q < rows.count && q >= distance && !is_zero(values[rows.row(q)])) atomicAdd(found, 1u);
}

// Whether a diagonal is zero in the first `count` rows of each part, or in the last ones if it is negative.
template <class T>
bool is_zero_at_ends(const T* values, const Rows& rows, int64 part, int64 count, const Term& term) {
  if (count == 0) return true;
  const int64 first = count > 0 ? 0 : part + count;
  const Array found = Array::zeros(DType::i32, {1});
  launch("count_positions", count_positions<T>, blocks(ceil_div(rows.count, part) * std::abs(count)), dim3(kBlock),
         values + term.first, rows, part, first, std::abs(count), term.distance, found.as<unsigned>());
  return element<unsigned>(found, 0) == 0;
}

template <class T>
bool stays_in(const Axes& axes, const Rows& rows, const std::vector<Term>& terms, const T* values) {
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const Point& p = axes.points[k];
    if (!is_zero_at_ends(values, rows, axes.line, p.dx, terms[k])) return false;
    if (axes.planes == 1) continue;
    if (!is_zero_at_ends(values, rows, axes.line * axes.lines, axes.line * p.dy, terms[k])) return false;
  }
  return true;
}

}  // namespace

std::optional<Axes> grid_of(const Rows& rows, const std::vector<Term>& terms, const Array& values) {
  for (Axes& axes : grids_of(rows.count, terms)) {
    const bool stays = with_value_type(
        values.dtype, [&](auto zero) { return stays_in(axes, rows, terms, values.as<decltype(zero)>()); });
    if (stays) return std::move(axes);
  }
  return std::nullopt;
}

}  // namespace diagsparse::cuda::triangles
