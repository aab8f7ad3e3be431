// What kernels cache on the device with a plan or a matrix.
#pragma once

#include <tuple>

#include "core/cache.hpp"
#include "core/plan.hpp"
#include "device/launch.cuh"

namespace diagsparse::cuda {

// The object with this key, created the first time. When it is returned it is complete for every stream, and its memory
// outlives the work of the current one. T::arrays() returns references to its arrays.
template <class T, class Build>
std::shared_ptr<T> cached(const Cache& cache, const char* key, const Build& build) {
  const std::shared_ptr<T> object = cache.get<T>(key, [&] {
    std::shared_ptr<T> result = build();
    CUDA_CALL(cudaStreamSynchronize(stream()));
    std::apply([&](const auto&... array) { (cache.count(array.nbytes()), ...); }, result->arrays());
    return result;
  });
  std::apply([](const auto&... array) { (used_on_this_stream(array), ...); }, object->arrays());
  return object;
}

// The lists of sums. If there are many terms, they are created on the device from the pair_ranges. For B A, `swapped`
// makes u a position in A's values and v one in B's.
struct ResidentSums {
  Array sums, terms;

  explicit ResidentSums(const Sums& s, bool swapped = false);
  const Sum* sums_begin() const { return sums.as<const Sum>(); }
  const Term* terms_begin() const { return terms.as<const Term>(); }

  auto arrays() const { return std::tie(sums, terms); }
};

// Those of the plan.
inline std::shared_ptr<ResidentSums> resident_sums(const Plan& plan) {
  return cached<ResidentSums>(plan.cache, "sums",
                              [&] { return std::make_shared<ResidentSums>(diagonal_work(plan).sums); });
}

// What kernels with `both_orders` iterate over for each diagonal of C: the terms of A B, then those of B A if they are
// added or subtracted. (Pointers, because indices into the lists need more registers.)
struct OneOrder {
  const Sum* sums;
  const Term* terms;
};
struct Orders {
  OneOrder of[2];
  int count;
  bool subtracted;  // totals change sign before each order and at the end: -(-A B + B A)
};

// Those of the plan.
class ResidentOrders {
  std::shared_ptr<ResidentSums> ab_, ba_;
  bool subtracted_;

 public:
  explicit ResidentOrders(const Plan& plan);
  operator Orders() const {
    const OneOrder ab{ab_->sums_begin(), ab_->terms_begin()};
    if (!ba_) return {{ab}, 1, false};
    return {{ab, {ba_->sums_begin(), ba_->terms_begin()}}, 2, subtracted_};
  }
};

inline void prepare_orders(const Plan& plan) { ResidentOrders{plan}; }

// 0 minus each total: -total, but 0 for 0.
template <int N, class T>
inline __device__ void change_sign(T (&totals)[N]) {
#pragma unroll
  for (int r = 0; r < N; ++r) {
    if constexpr (is_complex<T>) totals[r] = {0 - totals[r].re, 0 - totals[r].im};
    else totals[r] = 0 - totals[r];
  }
}

}  // namespace diagsparse::cuda
