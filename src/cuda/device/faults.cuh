// The results of kernels that validate a matrix: the first invalid positions.
#pragma once

#include <limits>

#include "core/validation.hpp"
#include "device/launch.cuh"

namespace diagsparse::cuda {

using Position = unsigned long long;
constexpr Position kNoPosition = std::numeric_limits<Position>::max();

// The first invalid positions, on the device.
class FirstFaults {
 public:
  FirstFaults() { CUDA_CALL(cudaMemsetAsync(positions_.get(), 0xff, 2 * sizeof(Position), stream())); }

  Position* outside() const { return positions_.get(); }
  Position* order() const { return positions_.get() + 1; }
  Fault fault(Fault::Kind first) const {
    const std::vector<Position> found = download(static_cast<const Position*>(positions_.get()), 2);
    if (found[0] != kNoPosition) return {first, static_cast<int64>(found[0])};
    if (found[1] != kNoPosition) return {Fault::order, static_cast<int64>(found[1])};
    return {};
  }

 private:
  Scratch<Position> positions_{2};
};

// Checks that pointers begin at 0, never decrease and end at `count` (matrices/validation.cu).
Fault fault_in_pointers(const std::int64_t* pointers, int64 lines, int64 count);

inline __device__ void report(Position* first, int64 at) { atomicMin(first, static_cast<Position>(at)); }

}  // namespace diagsparse::cuda
