// cuSPARSE: handles, descriptors and conversions of operands.
#include "kernels/cusparse/cusparse.hpp"

#include <map>

#include "core/format.hpp"
#include "device/device_array.hpp"
#include "formats/sell/layout.hpp"

namespace diagsparse::cuda::cusparse {

cusparseHandle_t cusparse_handle() {
  // Never destroyed, because a thread may end after the CUDA context.
  thread_local std::map<int, cusparseHandle_t> handles;
  cusparseHandle_t& handle = handles[current_device()];
  if (handle == nullptr) CUDA_CALL(cusparseCreate(&handle));
  CUDA_CALL(cusparseSetStream(handle, stream()));
  return handle;
}

Array converted(const Array& a, DType dtype) {
  if (a.dtype == dtype) return a;
  const DeviceArray result = DeviceArray::empty(dtype, {a.size()});
  DeviceArray flat = DeviceArray::of(a);
  flat.shape = {a.size()};
  flat.strides = {1};
  assign(flat, result);
  return result.array();
}

std::shared_ptr<Indices32> indices_of(const Matrix& a) {
  return a.cache().get<Indices32>("cusparse indices", [&] {
    if (a.values.size() > 0x7fffffff) {  // with indices of 64 bits, some of its algorithms fail or return zeros
      throw std::invalid_argument("cuSPARSE supports matrices with fewer than 2^31 stored values, got " +
                                  std::to_string(a.values.size()));
    }
    const bool slices = a.format == sell.name, pointers = slices || entry_format(a.format).pointers;
    const char* first = slices ? "slice_indptr" : pointers ? "indptr" : "row";
    const char* second = pointers ? "indices" : "col";
    const Matrix m = slices ? lengthened(a, Lines::one) : a;
    return std::make_shared<Indices32>(
        Indices32{converted(m.index(first), DType::i32), converted(m.index(second), DType::i32)});
  });
}

void describe(SparseMatrix& result, const Matrix& a, const Indices32& indices, void* values, DType dtype) {
  const auto base = CUSPARSE_INDEX_BASE_ZERO;
  const auto type = CUSPARSE_INDEX_32I;
  const int64 count = a.values.size();
  void *const first = indices.first.data, *const second = indices.second.data;
  if (a.format == sell.name) {
    CUDA_CALL(cusparseCreateSlicedEll(result.address(), a.rows, a.cols, a.structure->stored(), count,
                                      a.structure->values_shape.cols, first, second, values, type, type, base,
                                      value_type(dtype)));
  } else if (entry_format(a.format).pointers) {
    CUDA_CALL(cusparseCreateCsr(result.address(), a.rows, a.cols, count, first, second, values, type, type, base,
                                value_type(dtype)));
  } else {
    CUDA_CALL(cusparseCreateCoo(result.address(), a.rows, a.cols, count, first, second, values, type, base,
                                value_type(dtype)));
  }
}

}  // namespace diagsparse::cuda::cusparse
