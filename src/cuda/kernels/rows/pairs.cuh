// Sums of listed products: sum s consists of the terms t from first[s] to first[s + 1], each values[left[t]] of A times
// values[right[t]] of B. Products of csr ("terms") and the products of quasi-bands outside of their bands are such
// sums.
//
// A thread computes a sum, four terms at a time, and reads the values through the caches. A sum with more than kMany
// terms is computed by a block: its threads load a value of A and of B each, and one of them adds the products. The
// terms of each sum are added in order, so every run gives the same bits.
#pragma once

#include "device/launch.cuh"
#include "device/values.cuh"
#include "entries/sorted_keys.cuh"

namespace diagsparse::cuda::rows {

constexpr int kMany = 256, kFetched = 128;

// Writes the last element of `first`, which is the number of terms.
void end_lists(const Array& first, int64 terms);
// The indices, int32, of the sums with many terms.
Array lists_with_many(const Array& first, int64 count);

inline __device__ std::int32_t left_of(Key pair) { return static_cast<std::int32_t>(pair >> 32); }
inline __device__ std::int32_t right_of(Key pair) { return static_cast<std::int32_t>(pair & 0xffffffffu); }

// The operands of the sums, and whether they are conjugated.
template <class U, class V>
struct PairValues {
  const U* a;
  const V* b;
  bool conj_a, conj_b;

  __device__ U left(Key pair) const { return conjugate_if(conj_a, load(a + left_of(pair))); }
  __device__ V right(Key pair) const { return conjugate_if(conj_b, load(b + right_of(pair))); }
};

// put(s, sum) stores a sum in the result.
template <class U, class V, class Put>
__global__ void __launch_bounds__(kBlock) add_pairs(const PairValues<U, V> values, const std::int32_t* first,
                                                    const Key* pairs, int64 count, const __grid_constant__ Put put) {
  constexpr int each = 4;
  const int64 s = thread_index();
  if (s >= count) return;
  const std::int32_t begin = first[s], terms = first[s + 1] - begin;
  if (terms > kMany) return;
  Product<U, V> sum{};
  for (int t = 0; t < terms; t += each) {
    U left[each]{};
    V right[each]{};
#pragma unroll
    for (int k = 0; k < each; ++k) {
      if (t + k >= terms) continue;
      const Key pair = load_once(pairs + begin + t + k);
      left[k] = values.left(pair), right[k] = values.right(pair);
    }
#pragma unroll
    for (int k = 0; k < each; ++k) {
      if (t + k < terms) sum += multiply(left[k], right[k]);
    }
  }
  put(s, sum);
}

// A block computes a sum with many terms.
template <class U, class V, class Put>
__global__ void __launch_bounds__(kFetched)
    add_many_pairs(const PairValues<U, V> values, const std::int32_t* first, const Key* pairs, const std::int32_t* many,
                   const __grid_constant__ Put put) {
  __shared__ U left[kFetched];
  __shared__ V right[kFetched];
  const std::int32_t s = many[blockIdx.x], end = first[s + 1];
  Product<U, V> sum{};
  for (std::int32_t t = first[s]; t < end; t += kFetched) {
    const int here = min(kFetched, end - t);
    U u{};
    V v{};
    if (threadIdx.x < here) {
      const Key pair = load_once(pairs + t + threadIdx.x);
      u = values.left(pair), v = values.right(pair);
    }
    __syncthreads();  // until the previous values have been added
    left[threadIdx.x] = u, right[threadIdx.x] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int k = 0; k < here; ++k) sum += multiply(left[k], right[k]);
    }
  }
  if (threadIdx.x == 0) put(s, sum);
}

template <class U, class V, class Put>
void add_listed(const char* name, const PairValues<U, V>& values, const Array& first, const Array& pairs, int64 count,
                const Array& many, const Put& put) {
  launch(name, add_pairs<U, V, Put>, blocks(count), dim3(kBlock), values, first.as<const std::int32_t>(),
         pairs.as<const Key>(), count, put);
  launch(name, add_many_pairs<U, V, Put>, dim3(static_cast<unsigned>(many.size())), dim3(kFetched), values,
         first.as<const std::int32_t>(), pairs.as<const Key>(), many.as<const std::int32_t>(), put);
}

}  // namespace diagsparse::cuda::rows
