// Which types of column indices are read by kernels.
#pragma once

#include "core/columns.hpp"

namespace diagsparse::cuda {

// Whether there are kernels that read columns of type I: for 16 bits only if both operands are real, or both complex,
// and for 8 bits only if they have one type. For other pairs, which are rare with such columns, the columns are
// lengthened before each product.
template <class I, class U, class V>
constexpr bool reads_columns = sizeof(I) == 4   ? true
                               : sizeof(I) == 2 ? is_complex<U> == is_complex<V>
                                                : std::is_same_v<U, V>;

}  // namespace diagsparse::cuda
