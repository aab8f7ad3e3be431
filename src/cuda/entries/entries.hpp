// Entries of csr, csc and coo on the device, in any order.
#pragma once

#include "core/matrix.hpp"
#include "device/device_array.hpp"

namespace diagsparse::cuda {

// From entries in any order, duplicates added. `layout` names how they are given: as in coo (first = rows, second =
// columns), csr (first = indices, second = indptr) or csc. std::invalid_argument for indices outside the shape.
Matrix matrix_from_entries(const std::string& format, int64 rows, int64 cols, const DeviceArray& values,
                           const DeviceArray& first, const DeviceArray& second, const std::string& layout);

}  // namespace diagsparse::cuda
