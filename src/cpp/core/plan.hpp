// What C = op(A) op(B) looks like, and how its values come about, for any values on these structures.
#pragma once

#include <functional>
#include <optional>

#include "core/elementwise.hpp"
#include "core/kernel_table.hpp"
#include "core/matrix.hpp"
#include "core/sums.hpp"

namespace diagsparse {

// What a family of formats finds out once for a product, beside the structure of C.
struct Work {
  virtual ~Work() = default;
  virtual int64 nbytes() const { return 0; }
  virtual int64 operations() const { return 0; }  // multiply-adds
  virtual bool both_orders() const { return false; }
};

struct Format;

struct Plan {
  std::string kernel;  // its name
  const MatmulRow* row = nullptr;
  DType dtype = DType::f64;                          // of C, for the planned operands
  DType a_dtype = DType::f64, b_dtype = DType::f64;  // of these
  int device = 0;
  Op op_a, op_b;
  StructurePtr a, b;         // of the operands that it was made for
  StructurePtr c;            // of the result
  int64 rows = 0, cols = 0;  // of the result
  std::shared_ptr<const Work> work;
  bool repeated = false;  // it will run many times
  Cache cache;            // what the kernel keeps from one run to the next

  const char* format() const { return c->format; }
  int64 nbytes() const { return c->values_shape.size() * item_size(dtype) + c->nbytes(); }  // of one result
  bool both_orders() const { return work && work->both_orders(); }  // C = alpha (A B +- B A), not alpha A B
  int64 workspace_nbytes() const { return (work ? work->nbytes() : 0) + cache.nbytes(); }  // of the plan itself

  // C = alpha op(A) op(B), as a new matrix, and with + beta C, into `out`. Throws std::invalid_argument, with
  // nothing written, unless A, B and out have the structures that the plan was made for.
  Matrix run(const Matrix& a, const Matrix& b, Scalar alpha) const;
  void check_into(const Matrix& a, const Matrix& b, const Matrix& out) const;
  void run_into(const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& out) const;
  Matrix result(DType dtype, bool zero) const;
  // The stages of a run; run_into is all of them, in order.
  std::vector<std::string> stages() const;
  void run_stage(std::size_t stage, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& out) const;

 private:
  void run_kernel(const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& out) const;
};

// What becomes of B A in the pass that makes A B.
enum class OtherOrder { none, added, subtracted };

// What is asked of a product.
struct Request {
  std::string format;  // of C
  std::string kernel;  // "": the default
  Triangle triangle = Triangle::both;
  std::vector<int64> extra;            // diagonals that C stores beside those of the product (for beta C, SYR2K)
  bool repeated = false;               // the plan will run many times: lists are worth it that cost more than a product
  Symmetry symmetry = Symmetry::none;  // of C, by who asks: one half is computed and stored
  OtherOrder other_order = OtherOrder::none;  // a wish: Plan::both_orders() says whether the kernel grants it
  std::function<void(const char*)> on_stage = [](const char*) {};  // called as each stage of the planning has ended
};
// For planners: all of a plan but C's structure and the work; and the end, which names the kernel and lets it prepare
// what it keeps.
Plan begin_plan(const Matrix& a, Op op_a, const Matrix& b, Op op_b);
void finish_plan(Plan& plan, const MatmulRow& row);
// Plans a product by the table of the format that it is asked for in.
Plan plan_matmul(const Matrix& a, Op op_a, const Matrix& b, Op op_b, const Request& request);

// ---- The diagonal family --------------------------------------------------------------------------
struct DiagonalWork : Work {
  const Sums sums;
  const Triangle triangle;  // the part of C that is computed
  // Of B A on the same diagonals of C, u in B's values and v in A's: in plans of kernels with `both_orders`.
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
inline bool shares_rows(const StructurePtr& s) { return layout_of(s).halves > 1; }  // as in cdm

Plan plan_diagonals(const Format& format, const Matrix& a, Op op_a, const Matrix& b, Op op_b, const Request& request);
// The element-wise product on the diagonals that both terms store, by the kernel of products.
Matrix multiplied_diagonals(const ScaledMatrix& a, const ScaledMatrix& b, const std::string& format);

// ---- Products by rows -----------------------------------------------------------------------------
Plan plan_rows(const Format& format, const Matrix& a, Op op_a, const Matrix& b, Op op_b, const Request& request);
struct RowWork : Work {
  int64 products;  // of an entry of A and one of B
  int64 beside;    // bytes

  RowWork(int64 products, int64 beside) : products(products), beside(beside) {}
  int64 nbytes() const override { return beside; }
  int64 operations() const override { return products; }
};
// The columns of each row of A B, for csr, and the work of their sums; the bytes that the host takes beside the result
// for a while, to find them or to sum. Each device's own.
struct RowsOfProduct {
  std::shared_ptr<const Indices> structure;
  int64 products, beside = 0;
};
RowsOfProduct product_rows(const Matrix& a, const Matrix& b);

}  // namespace diagsparse
