// Stored values converted to another type, conjugated or scaled.
#pragma once

#include "core/array.hpp"

namespace diagsparse {

// factor * values, conjugated if requested, in type `dtype`; std::invalid_argument if it cannot hold them.
Array values_as(DType dtype, const Array& values, bool conjugated, Scalar factor = 1.0);

}  // namespace diagsparse
