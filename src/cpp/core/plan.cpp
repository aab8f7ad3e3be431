// How a plan of a product is created and run.
#include "core/plan.hpp"

#include <algorithm>

#include "core/format.hpp"
#include "core/matvec.hpp"
#include "core/validation.hpp"

namespace diagsparse {

namespace {

void require(const StructurePtr& planned, const char* name, const Matrix& m) {
  if (m.structure == planned || planned->same_as(*m.structure)) return;
  const std::string shape = extents(m.rows, m.cols);
  const bool result = std::string(name) == "out";  // operands may have been given in other formats
  if (result && m.format != planned->format) {
    throw std::invalid_argument("plan: out is " + m.format + " " + shape + ", the plan computes " + planned->format);
  }
  throw std::invalid_argument(std::string("plan: ") + name +
                              (result ? " is " + m.format + " " + shape + " with another structure"
                                      : ", " + shape + " and multiplied as " + m.format + ", has another structure") +
                              " than the plan was made for; make a new plan");
}

}  // namespace

Matrix Plan::run(const Matrix& left, const Matrix& right, Scalar alpha) const {
  require(a, "A", left);
  require(b, "B", right);
  Matrix built = result(product_dtype(left.dtype, right.dtype), false);
  run_kernel(left, right, alpha, 0.0, built);
  return built;
}

// alpha multiplies complete sums, as in matvec.hpp, including an alpha by which single terms cannot be scaled.
void Plan::run_kernel(const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& out) const {
  const auto all = [&](Scalar factor, Scalar keep, Matrix& c) {
    for (std::size_t stage = 0; stage <= row->more.size(); ++stage) run_stage(stage, left, right, factor, keep, c);
  };
  if (finite(alpha, out.dtype)) return all(alpha, beta, out);
  Matrix sum = result(out.dtype, true);
  all(1.0, 0.0, sum);
  add_scaled(alpha, sum.values, beta, out.values);
}

std::vector<std::string> Plan::stages() const {
  std::vector<std::string> names{row->first};
  for (const MatmulStage& stage : row->more) names.emplace_back(stage.name);
  return names;
}

void Plan::run_stage(std::size_t stage, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta,
                     Matrix& out) const {
  const bool as_planned = left.dtype == a_dtype && right.dtype == b_dtype;
  const MatmulRow& runs = as_planned ? *row : row_that_runs(*row, *this, left.dtype, right.dtype);
  const MatmulKernel run = (stage == 0 ? runs.typed : runs.more.at(stage - 1).typed)(left.dtype, right.dtype);
  if (run == nullptr) {
    throw std::invalid_argument(std::string("matmul: no kernel multiplies ") + dtype_name(left.dtype) + " by " +
                                dtype_name(right.dtype));
  }
  run(*this, left, right, alpha, beta, out);
}

void Plan::check_into(const Matrix& left, const Matrix& right, const Matrix& out) const {
  require(a, "A", left);
  require(b, "B", right);
  require(c, "out", out);
  const DType type = product_dtype(left.dtype, right.dtype);
  if (out.dtype != type) {
    throw std::invalid_argument(std::string("plan: out holds ") + dtype_name(out.dtype) + " values, the product is " +
                                dtype_name(type));
  }
  if (!out.values.writeable) throw std::invalid_argument("plan: the values of out are read-only");
  if (overlap(out.values, left.values) || overlap(out.values, right.values)) {
    throw std::invalid_argument("plan: out is one of the operands");
  }
}

void Plan::run_into(const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& out) const {
  check_into(left, right, out);
  run_kernel(left, right, alpha, beta, out);
}

Matrix Plan::result(DType type, bool zero) const {
  if (zero) return {c, Array::zeros(type, c->values_shape)};
  Array values = Array::empty(type, c->values_shape);
  c->clear_padding(values);
  return {c, std::move(values)};
}

namespace {

// Everything but the structure of C and the work.
Plan begin_plan(const Matrix& a, Op op_a, const Matrix& b, Op op_b) {
  Plan plan;
  plan.dtype = product_dtype(a.dtype, b.dtype);
  plan.device = a.device();
  plan.op_a = op_a;
  plan.op_b = op_b;
  plan.a_dtype = a.dtype;
  plan.b_dtype = b.dtype;
  plan.a = a.structure;
  plan.b = b.structure;
  plan.rows = op_a.transposed ? a.cols : a.rows;
  plan.cols = op_b.transposed ? b.rows : b.cols;
  return plan;
}

// Sets the kernel, which prepares what it caches.
void finish_plan(Plan& plan, const MatmulRow& row) {
  plan.kernel = row.name;
  plan.row = &row;
  if (row.prepare) row.prepare(plan);
}

void check_request(const Format& format, const Matrix& a, Op op_a, const Matrix& b, Op op_b, const Request& request) {
  const std::string products = "matmul: products as " + request.format;
  if (format.plan == nullptr) {
    throw std::invalid_argument("matmul: " + request.format + " has no products of its own; it multiplies as " +
                                multiplied_as(format).name);
  }
  const int64 left = op_a.transposed ? a.rows : a.cols, right = op_b.transposed ? b.cols : b.rows;
  if (left != right) {
    throw std::invalid_argument("matmul: A has " + std::to_string(left) + " columns, B has " + std::to_string(right) +
                                " rows");
  }
  if (request.symmetry != Symmetry::none && !format.halves) {
    throw std::invalid_argument(products + " store both halves");
  }
  const auto fits = [&format](const Matrix& m) {
    const bool diagonals = format.family == &diagonal_family;
    return diagonals ? format_of(m.format).family == format.family : m.format == format.name;
  };
  if (!fits(a) || !fits(b)) throw std::invalid_argument(products + ": got " + a.format + " and " + b.format);
  const MatmulRow& row = find_matmul(format.name, request.kernel);
  if (!row.fallback) check_types(row, a.dtype, b.dtype);
}

}  // namespace

Plan plan_matmul(const Matrix& a, Op op_a, const Matrix& b, Op op_b, const Request& request) {
  const Format& format = format_of(request.format);
  check_request(format, a, op_a, b, op_b, request);
  Plan plan = begin_plan(a, op_a, b, op_b);
  plan.repeated = request.repeated;
  format.plan(plan, a, b, request);
  finish_plan(plan, choose_matmul(plan, request.kernel, a.dtype, b.dtype));
  return plan;
}

// ---- The diagonal family --------------------------------------------------------------------------
namespace {

LayoutPtr layout_on(const std::string& format, const Plan& plan, const std::vector<int64>& offsets) {
  const DiagonalFormat& target = diagonal_format(format);
  return std::make_shared<const Layout>(
      target.place(plan.rows, plan.cols, target.labels_for(plan.rows, plan.cols, offsets)));
}

void require_square(const Plan& plan, int64 inner) {
  if (plan.rows == inner && plan.cols == inner) return;
  throw std::invalid_argument("matmul: a product in both orders needs square matrices of one shape, got A with " +
                              std::to_string(plan.rows) + " rows and " + std::to_string(inner) + " columns, B with " +
                              std::to_string(plan.cols) + " columns");
}

}  // namespace

void plan_diagonals(Plan& plan, const Matrix& a, const Matrix& b, const Request& request) {
  const Operand left(spans_of(a.layout(), plan.op_a)), right(spans_of(b.layout(), plan.op_b));
  std::vector<int64> offsets = offset_sumset(left, right, plan.rows, plan.cols, request.triangle);
  if (!request.extra.empty()) {
    offsets.insert(offsets.end(), request.extra.begin(), request.extra.end());
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  }
  const LayoutPtr layout = layout_on(request.format, plan, offsets);
  plan.c = layout;
  const int64 inner = plan.op_b.transposed ? b.cols : b.rows;
  const auto work =
      std::make_shared<DiagonalWork>(product_sums(left, right, inner, *layout, request.triangle), request.triangle);
  plan.work = work;
  if (request.other_order == OtherOrder::none) return;
  if (!choose_matmul(plan, request.kernel, a.dtype, b.dtype).both_orders) return;
  require_square(plan, inner);
  work->other_order = product_sums(right, left, inner, *layout, request.triangle);  // the same offsets a + b
  work->subtracted = request.other_order == OtherOrder::subtracted;
}

Matrix multiplied_diagonals(const ScaledMatrix& a, const ScaledMatrix& b, const std::string& format) {
  Plan plan = begin_plan(*a.matrix, a.op, *b.matrix, b.op);
  const std::vector<Span> left = spans_of(a.matrix->layout(), a.op), right = spans_of(b.matrix->layout(), b.op);
  plan.cols = a.cols();
  std::vector<int64> offsets;
  for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    const int64 x = left[i].offset, y = right[j].offset;
    if (x == y) offsets.push_back(x);
    i += x <= y;
    j += y <= x;
  }
  const LayoutPtr layout = layout_on(format, plan, offsets);
  plan.c = layout;
  plan.work = std::make_shared<DiagonalWork>(elementwise_sums(left, right, *layout));
  finish_plan(plan, find_matmul(format, ""));
  return plan.run(*a.matrix, *b.matrix, a.factor * b.factor);
}

// ---- Products by rows -----------------------------------------------------------------------------
void plan_rows(Plan& plan, const Matrix& a, const Matrix& b, const Request& request) {
  for (const Op op : {plan.op_a, plan.op_b}) {
    if (op.transposed || op.conjugated) throw std::invalid_argument("matmul: products as csr: got a view");
  }
  RowsOfProduct product = product_rows(a, b);
  request.on_stage("columns");
  plan.c = std::move(product.structure);
  plan.work = std::make_shared<RowWork>(product.products, product.workspace);
}

}  // namespace diagsparse
