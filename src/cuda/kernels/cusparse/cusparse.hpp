// cuSPARSE with error checks; the only file that includes its header.
#pragma once

#include <cusparse.h>

#include <optional>

#include "core/plan.hpp"
#include "device/cuda.hpp"

namespace diagsparse::cuda {

inline void check(cusparseStatus_t result, const char* call, const char* file, int line) {
  if (result != CUSPARSE_STATUS_SUCCESS) fail(call, cusparseGetErrorString(result), file, line);
}

}  // namespace diagsparse::cuda

namespace diagsparse::cuda::cusparse {

inline std::optional<int> version() {
  int major = 0, minor = 0, patch = 0;
  if (cusparseGetProperty(MAJOR_VERSION, &major) != CUSPARSE_STATUS_SUCCESS ||
      cusparseGetProperty(MINOR_VERSION, &minor) != CUSPARSE_STATUS_SUCCESS ||
      cusparseGetProperty(PATCH_LEVEL, &patch) != CUSPARSE_STATUS_SUCCESS) {
    return std::nullopt;
  }
  return 1000 * major + 100 * minor + patch;
}

// The thread's handle on its current device, set to the caller's stream.
cusparseHandle_t cusparse_handle();

constexpr cudaDataType value_type(DType t) {
  constexpr cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
  return types[static_cast<int>(t)];
}

// A descriptor that is destroyed with its owner.
template <class T, auto Destroy>
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (get_) Destroy(get_);
  }
  T* address() { return &get_; }
  operator T() const { return get_; }

 private:
  T get_ = nullptr;
};
using SparseMatrix = Descriptor<cusparseSpMatDescr_t, cusparseDestroySpMat>;
using DenseVector = Descriptor<cusparseDnVecDescr_t, cusparseDestroyDnVec>;
using DenseMatrix = Descriptor<cusparseDnMatDescr_t, cusparseDestroyDnMat>;
using Gemm = Descriptor<cusparseSpGEMMDescr_t, cusparseSpGEMM_destroyDescr>;

// alpha or beta in the type that cuSPARSE expects.
struct Number {
  alignas(16) char bytes[16];

  Number(Scalar s, DType t) {
    with_value_type(t, [&](auto zero) { *reinterpret_cast<decltype(zero)*>(bytes) = from_scalar<decltype(zero)>(s); });
  }
};

Array converted(const Array& a, DType dtype);  // a copy in another type

// Index arrays of 32 bits, cached with the structure.
struct Indices32 {
  Array first, second;  // csr: indptr, indices; sell: slice_indptr, indices; coo: row, col
};

// Raises std::invalid_argument if 32 bits cannot count the stored values.
std::shared_ptr<Indices32> indices_of(const Matrix& a);
void describe(SparseMatrix& built, const Matrix& a, const Indices32& indices, void* values, DType dtype);

}  // namespace diagsparse::cuda::cusparse
