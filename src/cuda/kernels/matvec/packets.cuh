// Writes results in packets of 16 bytes.
#pragma once

#include "core/arithmetic.hpp"

namespace diagsparse::cuda::matvec {

// Number of values in a packet of 16 bytes.
template <class V>
constexpr int kPacket = 16 / static_cast<int>(sizeof(V));

// out = alpha sums + beta out for neighbouring elements. Writes a complete packet if nothing has to be read and the
// address is aligned.
template <class T, int Width>
inline __device__ void update_packet(const Update<T>& update, T* out, const T (&sums)[Width]) {
  if (update.plain && sizeof(sums) == 16 && reinterpret_cast<std::uintptr_t>(out) % 16 == 0) {
    uint4 bits;
    memcpy(&bits, sums, 16);
    *reinterpret_cast<uint4*>(out) = bits;
    return;
  }
#pragma unroll
  for (int c = 0; c < Width; ++c) update.one(out + c, sums[c]);
}

}  // namespace diagsparse::cuda::matvec
