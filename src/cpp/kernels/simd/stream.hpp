// Stores that bypass the caches, for results that are too large for them: memory need not be read before it is written.
#pragma once

#include "kernels/simd/vec.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace diagsparse::DIAGSPARSE_ISA {

// Writes a vector of kVectorBytes to an address that is a multiple of them.
template <class V, class R>
[[gnu::always_inline]] inline void stream(R* p, V v) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
#elif defined(__AVX2__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
#else
  store(p, v);
#endif
}

// To be called by a thread after its streamed stores.
inline void finish_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace diagsparse::DIAGSPARSE_ISA
