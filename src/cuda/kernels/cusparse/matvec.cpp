// Kernels "cusparse": NVIDIA's library on our arrays, as a reference for speed and as an alternative. "cusparse_alg1"
// and "cusparse_alg2" select the algorithm for vectors, "cusparse" leaves the choice to the library.
//
// cuSPARSE requires operands of one type, and pointers and indices of the same width; operands that differ are
// converted into temporaries. Descriptors, workspace and preprocessing are cached with the matrix, once for each
// operation and each stream. Sums may differ in their last bits from run to run where cuSPARSE documents this. For
// sell, the library computes A times a vector if the rows are not reordered; transposes and blocks of columns of sell,
// and empty products, are computed by the format's default kernel.
#include "device/device_array.hpp"
#include "formats/csc/layout.hpp"
#include "formats/sell/layout.hpp"
#include "kernels/cusparse/cusparse.hpp"
#include "kernels/rows/kernels.hpp"

namespace diagsparse::cuda::cusparse {

namespace {

// Values of op(A) for cuSPARSE, which has no operation that conjugates without transposing.
Array values_for(const Matrix& a, Op op, DType dtype) {
  const Array values = converted(a.values, dtype);
  const bool complex = a.dtype == DType::c64 || a.dtype == DType::c128;
  if (!complex || !op.conjugated || op.transposed) return values;
  return map(Map::conjugate, DeviceArray::of(values), 0.0).array();
}

// For real matrices, cuSPARSE has only a transpose, no adjoint.
cusparseOperation_t operation(Op op, DType dtype) {
  op.conjugated &= dtype == DType::c64 || dtype == DType::c128;
  if (!op.transposed) return CUSPARSE_OPERATION_NON_TRANSPOSE;
  return op.conjugated ? CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE : CUSPARSE_OPERATION_TRANSPOSE;
}

// What is cached for products of a matrix with vectors (or blocks of one width) on one stream.
struct Prepared {
  std::mutex mutex;
  std::shared_ptr<Indices32> indices;
  SparseMatrix matrix;
  std::shared_ptr<void> workspace;
  bool ready = false;
};

std::shared_ptr<Prepared> prepared(const Matrix& a, Op op, DType dtype, const std::string& what) {
  const std::string key = "cusparse " + what + ", operation " + std::to_string(operation(op, dtype)) + ", " +
                          dtype_name(dtype) + " " + std::to_string(reinterpret_cast<std::uintptr_t>(stream()));
  return a.cache().get<Prepared>(key, [&] {
    auto result = std::make_shared<Prepared>();
    result->indices = indices_of(a);
    describe(result->matrix, a, *result->indices, a.values.data, dtype);
    return result;
  });
}

void multiply_vector(cusparseSpMVAlg_t algorithm, const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta,
                     const Dense& y) {
  const Array values = values_for(a, op, y.dtype), in = converted({x.data, x.dtype, {x.rows}, nullptr}, y.dtype);
  const Number one(alpha, y.dtype), two(beta, y.dtype);
  const cusparseHandle_t handle = cusparse_handle();
  DenseVector from, to;
  CUDA_CALL(cusparseCreateDnVec(from.address(), x.rows, in.data, value_type(y.dtype)));
  CUDA_CALL(cusparseCreateDnVec(to.address(), y.rows, y.data, value_type(y.dtype)));
  const auto state = prepared(a, op, y.dtype, "vector " + std::to_string(algorithm));
  const std::lock_guard<std::mutex> lock(state->mutex);
  CUDA_CALL(cusparseSpMatSetValues(state->matrix, values.data));
  const auto type = value_type(y.dtype);
  if (!state->ready) {
    std::size_t bytes = 0;
    CUDA_CALL(cusparseSpMV_bufferSize(handle, operation(op, y.dtype), one.bytes, state->matrix, from, two.bytes, to,
                                      type, algorithm, &bytes));
    state->workspace = allocate(static_cast<int64>(bytes));
    CUDA_CALL(cusparseSpMV_preprocess(handle, operation(op, y.dtype), one.bytes, state->matrix, from, two.bytes, to,
                                      type, algorithm, state->workspace.get()));
    state->ready = true;
  }
  CUDA_CALL(cusparseSpMV(handle, operation(op, y.dtype), one.bytes, state->matrix, from, two.bytes, to, type, algorithm,
                         state->workspace.get()));
}

void describe(DenseMatrix& result, const Dense& d, void* data, DType dtype, bool by_columns) {
  const int64 lead = by_columns ? std::max(d.col_stride, d.rows) : std::max(d.row_stride, d.cols);
  CUDA_CALL(cusparseCreateDnMat(result.address(), d.rows, d.cols, lead, data, value_type(dtype),
                                by_columns ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW));
}

void multiply_block(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  const bool by_columns = y.row_stride == 1 && y.col_stride != 1;
  Dense in = x;
  std::shared_ptr<const void> owner;
  if (x.dtype != y.dtype) {
    const DeviceArray result = DeviceArray::empty(y.dtype, {x.rows, x.cols}, !by_columns);
    const DeviceArray from{static_cast<char*>(x.data),   x.dtype,          {x.rows, x.cols},
                           {x.row_stride, x.col_stride}, current_device(), nullptr};
    assign(from, result);
    in = result.dense();
    owner = result.owner;
  }
  const Array values = values_for(a, op, y.dtype);
  const Number one(alpha, y.dtype), two(beta, y.dtype);
  const cusparseHandle_t handle = cusparse_handle();
  DenseMatrix from, to;
  describe(from, in, in.data, y.dtype, by_columns);
  describe(to, y, y.data, y.dtype, by_columns);
  const auto state = prepared(a, op, y.dtype, std::string(by_columns ? "columns " : "rows ") + std::to_string(y.cols));
  const std::lock_guard<std::mutex> lock(state->mutex);
  CUDA_CALL(cusparseSpMatSetValues(state->matrix, values.data));
  const auto type = value_type(y.dtype);
  const auto algorithm = a.format == diagsparse::csr.name && !by_columns && !op.transposed ? CUSPARSE_SPMM_CSR_ALG2
                                                                                           : CUSPARSE_SPMM_ALG_DEFAULT;
  const auto none = CUSPARSE_OPERATION_NON_TRANSPOSE;
  if (!state->ready) {
    std::size_t bytes = 0;
    CUDA_CALL(cusparseSpMM_bufferSize(handle, operation(op, y.dtype), none, one.bytes, state->matrix, from, two.bytes,
                                      to, type, algorithm, &bytes));
    state->workspace = allocate(static_cast<int64>(bytes));
    CUDA_CALL(cusparseSpMM_preprocess(handle, operation(op, y.dtype), none, one.bytes, state->matrix, from, two.bytes,
                                      to, type, algorithm, state->workspace.get()));
    state->ready = true;
  }
  CUDA_CALL(cusparseSpMM(handle, operation(op, y.dtype), none, one.bytes, state->matrix, from, two.bytes, to, type,
                         algorithm, state->workspace.get()));
}

void refuse_sorted_rows(const Matrix& a) {
  if (a.format != sell.name || !static_cast<const Indices&>(*a.structure).find("row_order")) return;
  throw std::invalid_argument(
      "matvec: kernel \"cusparse\" does not support sorted rows (row_order); sigma=1 avoids them");
}

void multiply(cusparseSpMVAlg_t algorithm, const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta,
              const Dense& y) {
  if (a.format == diagsparse::csc.name) {
    return multiply(algorithm, transposed_csr(a), {!op.transposed, op.conjugated}, alpha, x, beta, y);
  }
  refuse_sorted_rows(a);
  const bool vector = x.cols == 1 && x.row_stride == 1 && y.row_stride == 1;
  const bool empty = a.values.size() == 0 || a.rows == 0 || a.cols == 0 || x.cols == 0;  // cuSPARSE rejects empty
                                                                                         // products
  if (empty || (a.format == sell.name && (op.transposed || !vector))) {
    return matvec_kernel(find_matvec(a.format, ""), a.dtype, x.dtype)(a, op, alpha, x, beta, y);
  }
  if (vector) multiply_vector(algorithm, a, op, alpha, x, beta, y);
  else multiply_block(a, op, alpha, x, beta, y);
}

template <cusparseSpMVAlg_t Algorithm>
struct By {
  template <class U, class V>
  struct Multiply {
    static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
      multiply(Algorithm, a, op, alpha, x, beta, y);
    }
  };
};

void prepare(const Matrix& a, Op op) {
  refuse_sorted_rows(a);
  if (a.format == sell.name) rows::prepare_transpose(a, op);
}

template <cusparseSpMVAlg_t Algorithm>
MatvecRow row(const char* name) {
  return {name, every_pair<By<Algorithm>::template Multiply, MatvecKernel>(), prepare};
}

}  // namespace

MatvecRow matvec() { return row<CUSPARSE_SPMV_ALG_DEFAULT>("cusparse"); }
MatvecRow matvec_alg1() { return row<CUSPARSE_SPMV_CSR_ALG1>("cusparse_alg1"); }
MatvecRow matvec_alg2() { return row<CUSPARSE_SPMV_CSR_ALG2>("cusparse_alg2"); }

}  // namespace diagsparse::cuda::cusparse
