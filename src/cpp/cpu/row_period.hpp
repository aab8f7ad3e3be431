// The period of some consecutive rows.
#pragma once

#include <span>

#include "core/array.hpp"

namespace diagsparse {

// The period of the diagonals that intersect all of some consecutive rows; 0 if it is more than half of these rows. The
// first of them is row `first` of a matrix of `cols` columns; `columns` and `values` are those of all rows,
// concatenated.
int64 period_of_rows(int64 first, int64 cols, std::span<const std::int32_t> lengths,
                     std::span<const std::int32_t> columns, const Array& values);

}  // namespace diagsparse
