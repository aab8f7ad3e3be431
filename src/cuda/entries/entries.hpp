// Matrices from entries on the device, in any order.
#pragma once

#include "core/matrix.hpp"
#include "device/device_array.hpp"

namespace diagsparse::cuda {

// Adds duplicates. `layout` is the format of the arguments: that of coo (first = rows, second = columns), csr (first =
// indices, second = indptr) or csc. Throws std::invalid_argument if indices are out of range.
Matrix matrix_from_entries(const std::string& format, int64 rows, int64 cols, const DeviceArray& values,
                           const DeviceArray& first, const DeviceArray& second, const std::string& layout);

}  // namespace diagsparse::cuda
