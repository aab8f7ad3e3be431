// What kernels keep on the device with a plan or a matrix.
#pragma once

#include "core/kept.hpp"
#include "core/plan.hpp"
#include "device/launch.cuh"

namespace diagsparse::cuda {

// The object under this key, made the first time. It is whole for every stream from then on, and its memory outlives
// the work of this one. T::visit(f) calls f with each of its arrays.
template <class T, class Make>
std::shared_ptr<T> keep(const Kept& kept, const char* key, const Make& make) {
  const std::shared_ptr<T> object = kept.get<T>(key, [&] {
    std::shared_ptr<T> made = make();
    CUDA_CALL(cudaStreamSynchronize(stream()));
    made->visit([&](const Array& array) { kept.count(array.nbytes()); });
    return made;
  });
  object->visit([](const Array& array) { used_on_this_stream(array); });
  return object;
}

// The lists of sums. Where terms are many, they are made on the device from the meetings.
struct ResidentSums {
  Array sums, terms;

  explicit ResidentSums(const Sums& s);
  const Sum* sums_begin() const { return sums.as<const Sum>(); }
  const Term* terms_begin() const { return terms.as<const Term>(); }

  template <class F>
  void visit(const F& f) const {
    f(sums);
    f(terms);
  }
};

// The plan's.
inline std::shared_ptr<ResidentSums> resident_sums(const Plan& plan) {
  return keep<ResidentSums>(plan.kept, "sums",
                            [&] { return std::make_shared<ResidentSums>(diagonal_work(plan).sums); });
}

}  // namespace diagsparse::cuda
