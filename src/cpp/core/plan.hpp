// The structure of C = op(A) op(B), and how its values are computed, for any values on these structures.
#pragma once

#include <functional>
#include <optional>

#include "core/elementwise.hpp"
#include "core/kernel_table.hpp"
#include "core/matrix.hpp"
#include "core/sums.hpp"

namespace diagsparse {

// What a family of formats computes once for a product, in addition to the structure of C.
struct Work {
  virtual ~Work() = default;
  virtual int64 nbytes() const { return 0; }
  virtual int64 operations() const { return 0; }  // multiply-adds
  virtual bool both_orders() const { return false; }
};

struct Format;

struct Plan {
  std::string kernel;  // name of the kernel
  const MatmulRow* row = nullptr;
  DType dtype = DType::f64;                          // of C, for the operands that were planned
  DType a_dtype = DType::f64, b_dtype = DType::f64;  // of the planned operands
  int device = 0;
  Op op_a, op_b;
  StructurePtr a, b;         // of the planned operands
  StructurePtr c;            // of the result
  int64 rows = 0, cols = 0;  // of the result
  std::shared_ptr<const Work> work;
  bool repeated = false;  // whether it is to run many times
  Cache cache;            // what the kernel caches between runs

  const char* format() const { return c->format; }
  int64 nbytes() const { return c->values_shape.size() * item_size(dtype) + c->nbytes(); }  // of one result
  bool both_orders() const { return work && work->both_orders(); }  // C = alpha (A B +- B A), not alpha A B
  int64 workspace_nbytes() const { return (work ? work->nbytes() : 0) + cache.nbytes(); }  // of the plan itself

  // C = alpha op(A) op(B) as a new matrix; run_into also adds beta C and writes to `out`. Throws std::invalid_argument,
  // with nothing written, unless A, B and out have the structures of the plan.
  Matrix run(const Matrix& a, const Matrix& b, Scalar alpha) const;
  void check_into(const Matrix& a, const Matrix& b, const Matrix& out) const;
  void run_into(const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& out) const;
  Matrix result(DType dtype, bool zero) const;
  // The stages of a run; run_into runs all of them in order.
  std::vector<std::string> stages() const;
  void run_stage(std::size_t stage, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& out) const;

 private:
  void run_kernel(const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& out) const;
};

// Whether B A is added to A B or subtracted from it in the same pass.
enum class OtherOrder { none, added, subtracted };

// The arguments of plan_matmul.
struct Request {
  std::string format;  // of C
  std::string kernel;  // "": the default
  Triangle triangle = Triangle::both;
  std::vector<int64> extra;            // diagonals of C in addition to those of the product (for beta C, SYR2K)
  bool repeated = false;               // the plan will run often: lists that cost more than one product are worth it
  Symmetry symmetry = Symmetry::none;  // of C, as asserted by the caller: one triangle is computed and stored
  OtherOrder other_order = OtherOrder::none;  // a request; Plan::both_orders() reports whether the kernel supports it
  std::function<void(const char*)> on_stage = [](const char*) {};  // called at the end of each stage of the planning
};
// Plans a product by the table of the requested format.
Plan plan_matmul(const Matrix& a, Op op_a, const Matrix& b, Op op_b, const Request& request);

// ---- The diagonal family --------------------------------------------------------------------------
struct DiagonalWork : Work {
  const Sums sums;
  const Triangle triangle;  // the triangle of C that is computed
  // The sums of B A on the same diagonals of C (u in B's values, v in A's), for kernels with `both_orders`.
  std::optional<Sums> other_order;
  bool subtracted = false;  // or added

  explicit DiagonalWork(Sums built, Triangle triangle = Triangle::both) : sums(std::move(built)), triangle(triangle) {}

  int64 nbytes() const override { return sums.nbytes() + (other_order ? other_order->nbytes() : 0); }
  int64 operations() const override { return sums.work + (other_order ? other_order->work : 0); }
  bool both_orders() const override { return other_order.has_value(); }
};
inline const DiagonalWork& diagonal_work(const Plan& plan) { return static_cast<const DiagonalWork&>(*plan.work); }
inline const Sums& sums_of(const Plan& plan) { return diagonal_work(plan).sums; }
inline const Layout& layout_of(const StructurePtr& s) { return static_cast<const Layout&>(*s); }
inline bool shares_rows(const StructurePtr& s) { return layout_of(s).halves > 1; }  // of the value array, as in cdm

void plan_diagonals(Plan& plan, const Matrix& a, const Matrix& b, const Request& request);
// The elementwise product on the diagonals that both terms store, computed by a matmul kernel.
Matrix multiplied_diagonals(const ScaledMatrix& a, const ScaledMatrix& b, const std::string& format);

// ---- Products by rows -----------------------------------------------------------------------------
void plan_rows(Plan& plan, const Matrix& a, const Matrix& b, const Request& request);
struct RowWork : Work {
  int64 products;   // of an entry of A and an entry of B
  int64 workspace;  // temporary bytes

  RowWork(int64 products, int64 workspace) : products(products), workspace(workspace) {}
  int64 nbytes() const override { return workspace; }
  int64 operations() const override { return products; }
};
// The columns of each row of A B as csr, the number of products in their sums, and the temporary bytes on the host that
// finding or summing them needs in addition to the result. Implemented by each backend.
struct RowsOfProduct {
  std::shared_ptr<const Indices> structure;
  int64 products, workspace = 0;
};
RowsOfProduct product_rows(const Matrix& a, const Matrix& b);

}  // namespace diagsparse
