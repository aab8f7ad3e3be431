// Corrections of solutions by matrices of small rank, for a band with a few other rows, columns or corners.
#pragma once

#include "core/array.hpp"

namespace diagsparse::cuda::banded {

// result = M x', where x' are the rows of x at these positions; M: r x count in C order, x: n x k, result: r x k.
void multiply_selected(const Array& m, const Array& positions, const Dense& x, const Dense& result);

// x -= Y w; Y: n x r, w: r x k, x: n x k. Columns are contiguous.
void subtract_combined(const Dense& y, const Dense& w, const Dense& x);

}  // namespace diagsparse::cuda::banded
