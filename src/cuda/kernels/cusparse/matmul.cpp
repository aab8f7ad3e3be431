// Kernel "cusparse" of C = A B: the reusable product of cuSPARSE. Its analysis is cached with the plan, once for each
// stream; a call only multiplies values. If cuSPARSE finds another structure than the plan has, an error is raised.
#include "device/device_array.hpp"
#include "kernels/cusparse/cusparse.hpp"
#include "kernels/rows/kernels.hpp"

namespace diagsparse::cuda::cusparse {

namespace {

struct PreparedGemm {
  std::mutex mutex;
  std::shared_ptr<Indices32> a_indices, b_indices;
  SparseMatrix a, b, c;
  Gemm gemm;
  Array c_indptr, c_indices;
  std::vector<std::shared_ptr<void>> workspaces;
};

// Calls step(bytes, memory) once for the size of its workspace and once for the work.
template <class Step>
std::shared_ptr<void> with_workspace(const char* call, const Step& step) {
  std::size_t bytes = 0;
  check(step(&bytes, nullptr), call, __FILE__, __LINE__);
  std::shared_ptr<void> memory = allocate(static_cast<int64>(bytes));
  check(step(&bytes, memory.get()), call, __FILE__, __LINE__);
  return memory;
}

// A matrix with a structure of the plan but without values, which are set later.
Matrix on_structure(const StructurePtr& structure, DType dtype) {
  Array values;
  values.dtype = dtype;
  values.shape = structure->values_shape;
  return {structure, values};
}

const Array& index_of(const Plan& plan, const char* name) { return static_cast<const Indices&>(*plan.c).at(name); }

std::shared_ptr<PreparedGemm> analyse(const Plan& plan, DType dtype, void* a_values, void* b_values, void* c_values) {
  auto result = std::make_shared<PreparedGemm>();
  const Matrix a = on_structure(plan.a, plan.dtype), b = on_structure(plan.b, plan.dtype);
  result->a_indices = indices_of(a);
  result->b_indices = indices_of(b);
  describe(result->a, a, *result->a_indices, a_values, dtype);
  describe(result->b, b, *result->b_indices, b_values, dtype);
  const auto index = CUSPARSE_INDEX_32I;
  CUDA_CALL(cusparseCreateCsr(result->c.address(), plan.rows, plan.cols, 0, nullptr, nullptr, nullptr, index, index,
                              CUSPARSE_INDEX_BASE_ZERO, value_type(dtype)));
  CUDA_CALL(cusparseSpGEMM_createDescr(result->gemm.address()));
  const cusparseHandle_t handle = cusparse_handle();
  const auto none = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const auto algorithm = CUSPARSE_SPGEMM_DEFAULT;
  PreparedGemm& g = *result;
  g.workspaces.push_back(with_workspace("cusparseSpGEMMreuse_workEstimation", [&](std::size_t* bytes, void* memory) {
    return cusparseSpGEMMreuse_workEstimation(handle, none, none, g.a, g.b, g.c, algorithm, g.gemm, bytes, memory);
  }));
  std::size_t bytes[3] = {};
  CUDA_CALL(cusparseSpGEMMreuse_nnz(handle, none, none, g.a, g.b, g.c, algorithm, g.gemm, &bytes[0], nullptr, &bytes[1],
                                    nullptr, &bytes[2], nullptr));
  for (const std::size_t n : bytes) g.workspaces.push_back(allocate(static_cast<int64>(n)));
  CUDA_CALL(cusparseSpGEMMreuse_nnz(handle, none, none, g.a, g.b, g.c, algorithm, g.gemm, &bytes[0],
                                    g.workspaces[1].get(), &bytes[1], g.workspaces[2].get(), &bytes[2],
                                    g.workspaces[3].get()));
  std::int64_t rows = 0, cols = 0, nnz = 0;
  CUDA_CALL(cusparseSpMatGetSize(g.c, &rows, &cols, &nnz));
  if (nnz != index_of(plan, "indices").size()) {
    throw Error("cuSPARSE finds " + std::to_string(nnz) + " entries in a product that has " +
                std::to_string(index_of(plan, "indices").size()) + "; use another kernel");
  }
  g.c_indptr = Array::empty(DType::i32, {plan.rows + 1});
  g.c_indices = Array::empty(DType::i32, {nnz});
  CUDA_CALL(cusparseCsrSetPointers(g.c, g.c_indptr.data, g.c_indices.data, c_values));
  g.workspaces.push_back(with_workspace("cusparseSpGEMMreuse_copy", [&](std::size_t* n, void* memory) {
    return cusparseSpGEMMreuse_copy(handle, none, none, g.a, g.b, g.c, algorithm, g.gemm, n, memory);
  }));
  if (!same_bytes(g.c_indices.data, index_of(plan, "indices").data, index_of(plan, "indices").nbytes())) {
    throw Error("cuSPARSE gives the product's entries in another order; use another kernel");
  }
  return result;
}

std::shared_ptr<PreparedGemm> prepared(const Plan& plan, DType dtype, void* a, void* b, void* c) {
  const std::string key =
      std::string("cusparse ") + dtype_name(dtype) + " " + std::to_string(reinterpret_cast<std::uintptr_t>(stream()));
  return plan.cache.get<PreparedGemm>(key, [&] { return analyse(plan, dtype, a, b, c); });
}

void prepare_matmul(const Plan& plan) {
  if (index_of(plan, "indices").size() > 0x7fffffff)
    throw Error("cuSPARSE supports fewer than 2^31 entries in a product");
  if (plan.repeated) CUDA_CALL(cudaStreamSynchronize(stream()));  // the plan may run in another stream
}

template <class U, class V>
struct ReusedGemm {
  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    if (index_of(plan, "indices").size() == 0) return;
    const DType type = c.dtype;
    const Array a = converted(left.values, type), b = converted(right.values, type);
    const bool update = beta != 0.0;
    const Array result = update ? Array::empty(type, {c.values.size()}) : c.values;
    const auto state = prepared(plan, type, a.data, b.data, result.data);
    const std::lock_guard<std::mutex> lock(state->mutex);
    CUDA_CALL(cusparseSpMatSetValues(state->a, a.data));
    CUDA_CALL(cusparseSpMatSetValues(state->b, b.data));
    CUDA_CALL(cusparseSpMatSetValues(state->c, result.data));
    const Number one(alpha, type), zero(0.0, type);
    const auto none = CUSPARSE_OPERATION_NON_TRANSPOSE;
    CUDA_CALL(cusparseSpGEMMreuse_compute(cusparse_handle(), none, none, one.bytes, state->a, state->b, zero.bytes,
                                          state->c, value_type(type), CUSPARSE_SPGEMM_DEFAULT, state->gemm));
    if (update) add_scaled(DeviceArray::of(result), beta, DeviceArray::of(c.values));
  }
};

}  // namespace

MatmulRow matmul() { return {"cusparse", every_pair<ReusedGemm, MatmulKernel>(), prepare_matmul}; }

}  // namespace diagsparse::cuda::cusparse
