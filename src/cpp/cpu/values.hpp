// Stored values in another type, conjugated, or with a factor.
#pragma once

#include "core/array.hpp"

namespace diagsparse {

// factor * values, or their conjugates, in a type that holds them; std::invalid_argument where it does not.
Array values_as(DType dtype, const Array& values, bool conjugated, Scalar factor = 1.0);

}  // namespace diagsparse
