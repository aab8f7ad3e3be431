// Triangles of csr matrices by cuSPARSE's SpSV, one column after the other. The analysis is done once.
#include "kernels/triangles/triangle.hpp"

#include <mutex>

#include "kernels/cusparse/cusparse.hpp"

namespace diagsparse::cuda::triangles {

namespace {

using namespace cusparse;
using Analysis = Descriptor<cusparseSpSVDescr_t, cusparseSpSV_destroyDescr>;

class ByLevels : public Triangle {
 public:
  ByLevels(const Matrix& a, Op op, bool lower, bool unit) : Triangle(a), indices_(indices_of(a)) {
    if (matrix.values.size() == 0 || a.rows == 0) return;  // which cuSPARSE rejects
    describe(sparse_, a, *indices_, a.values.data, a.dtype);
    const bool complex = a.dtype == DType::c64 || a.dtype == DType::c128;
    operation_ = !op.transposed             ? CUSPARSE_OPERATION_NON_TRANSPOSE
                 : op.conjugated && complex ? CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE
                                            : CUSPARSE_OPERATION_TRANSPOSE;
    const cusparseFillMode_t fill = lower != op.transposed ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
    const cusparseDiagType_t diagonal = unit ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
    cusparseFillMode_t of_fill = fill;
    cusparseDiagType_t of_diagonal = diagonal;
    CUDA_CALL(cusparseSpMatSetAttribute(sparse_, CUSPARSE_SPMAT_FILL_MODE, &of_fill, sizeof of_fill));
    CUDA_CALL(cusparseSpMatSetAttribute(sparse_, CUSPARSE_SPMAT_DIAG_TYPE, &of_diagonal, sizeof of_diagonal));
    CUDA_CALL(cusparseSpSV_createDescr(analysis_.address()));
    const Array x = Array::zeros(a.dtype, {a.rows}), y = Array::zeros(a.dtype, {a.rows});
    DenseVector from, to;
    CUDA_CALL(cusparseCreateDnVec(from.address(), a.rows, x.data, value_type(a.dtype)));
    CUDA_CALL(cusparseCreateDnVec(to.address(), a.rows, y.data, value_type(a.dtype)));
    const Number one(1.0, a.dtype);
    std::size_t bytes = 0;
    const cusparseHandle_t handle = cusparse_handle();
    CUDA_CALL(cusparseSpSV_bufferSize(handle, operation_, one.bytes, sparse_, from, to, value_type(a.dtype),
                                      CUSPARSE_SPSV_ALG_DEFAULT, analysis_, &bytes));
    bytes_ = static_cast<int64>(bytes);
    workspace_ = allocate(bytes_);
    CUDA_CALL(cusparseSpSV_analysis(handle, operation_, one.bytes, sparse_, from, to, value_type(a.dtype),
                                    CUSPARSE_SPSV_ALG_DEFAULT, analysis_, workspace_.get()));
    CUDA_CALL(cudaStreamSynchronize(stream()));  // other streams may use the analysis
  }

  const char* order() const override { return "levels"; }
  int64 nbytes() const override { return bytes_; }

  void solve(const Dense& x) override {
    const DType dtype = matrix.dtype;
    if (x.cols == 0 || workspace_ == nullptr) return;  // without entries, x is the solution for a unit diagonal
    const std::lock_guard<std::mutex> lock(mutex_);
    const cusparseHandle_t handle = cusparse_handle();
    const Number one(1.0, dtype);
    const Array copy = Array::empty(dtype, {x.rows});
    for (int64 c = 0; c < x.cols; ++c) {
      char* const column = x.as<char>() + c * x.col_stride * item_size(dtype);
      CUDA_CALL(cudaMemcpyAsync(copy.data, column, copy.nbytes(), cudaMemcpyDeviceToDevice, stream()));
      DenseVector from, to;
      CUDA_CALL(cusparseCreateDnVec(from.address(), x.rows, copy.data, value_type(dtype)));
      CUDA_CALL(cusparseCreateDnVec(to.address(), x.rows, column, value_type(dtype)));
      CUDA_CALL(cusparseSpSV_solve(handle, operation_, one.bytes, sparse_, from, to, value_type(dtype),
                                   CUSPARSE_SPSV_ALG_DEFAULT, analysis_));
    }
  }

 private:
  std::shared_ptr<Indices32> indices_;
  SparseMatrix sparse_;
  Analysis analysis_;
  std::shared_ptr<void> workspace_;
  cusparseOperation_t operation_ = CUSPARSE_OPERATION_NON_TRANSPOSE;
  int64 bytes_ = 0;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<Triangle> by_levels(const Matrix& a, Op op, bool lower, bool unit) {
  return std::make_unique<ByLevels>(a, op, lower, unit);
}

}  // namespace diagsparse::cuda::triangles
