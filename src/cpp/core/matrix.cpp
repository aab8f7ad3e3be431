#include "core/matrix.hpp"

#include <algorithm>

#include "core/matvec.hpp"
#include "formats/all.hpp"

namespace diagsparse {

namespace {

// The layout's own vector as an array: read-only, since every matrix on the layout shares it.
Array shared_labels(const LayoutPtr& layout, const std::vector<int64>& labels) {
  Array a;
  a.data = const_cast<int64*>(labels.data());
  a.dtype = DType::i64;
  a.shape.rows = static_cast<int64>(labels.size());
  a.owner = layout;
  a.writeable = false;
  a.on_host = true;
  return a;
}

}  // namespace

bool overlap(const Dense& x, const Dense& y) {
  if (x.rows == 0 || x.cols == 0 || y.rows == 0 || y.cols == 0) return false;
  const auto range = [](const Dense& d) {
    const int64 row = (d.rows - 1) * d.row_stride, col = (d.cols - 1) * d.col_stride, item = item_size(d.dtype);
    const char* start = static_cast<const char*>(d.data);
    return std::make_pair(start + item * (std::min<int64>(row, 0) + std::min<int64>(col, 0)),
                          start + item * (std::max<int64>(row, 0) + std::max<int64>(col, 0) + 1));
  };
  const auto [x_first, x_last] = range(x);
  const auto [y_first, y_last] = range(y);
  return x_first < y_last && y_first < x_last;
}

bool overlap(const Dense& x, const Array& y) { return overlap(x, flat(y)); }
bool overlap(const Array& x, const Array& y) { return overlap(flat(x), flat(y)); }

std::vector<Part> Matrix::parts() const {
  std::vector<Part> all{{"values", values}};
  if (layout) {
    all.emplace_back(diagonal_format(format).labels_name, shared_labels(layout, layout->labels));
    if (!layout->starts.empty()) all.emplace_back("starts", shared_labels(layout, layout->starts));
  }
  for (Part part : structure) {  // which other matrices may share, and kernels trust
    part.second.writeable = false;
    all.push_back(std::move(part));
  }
  return all;
}

int64 Matrix::nbytes() const {
  int64 n = 0;
  for (const Part& part : parts()) n += part.second.nbytes();
  return n;
}

const Array& Matrix::index(const char* name) const {
  for (const Part& part : structure) {
    if (part.first == name) return part.second;
  }
  throw std::logic_error(format + " has no array " + name);
}

const DiagonalFormat* find_diagonal_format(const std::string& name) {
  for (const DiagonalFormat* f : diagonal_formats) {
    if (name == f->name) return f;
  }
  return nullptr;
}

const DiagonalFormat& diagonal_format(const std::string& name) {
  if (const DiagonalFormat* f = find_diagonal_format(name)) return *f;
  throw std::invalid_argument("format " + name + " does not store diagonals; dia, hm and cdm do");
}

const IndexFormat& index_format(const std::string& name) {
  for (const IndexFormat* f : index_formats) {
    if (name == f->name) return *f;
  }
  throw std::invalid_argument("format " + name + " is not made of index arrays; csr, csc and coo are");
}

Matrix make_diagonal(const DiagonalFormat& format, LayoutPtr layout, Array values) {
  Matrix m;
  m.format = format.name;
  m.dtype = values.dtype;
  m.rows = layout->rows;
  m.cols = layout->cols;
  m.values = std::move(values);
  m.layout = std::move(layout);
  return m;
}

int64 Plan::values_size() const {
  if (!c) return indices.size();
  return c->values_shape.size();
}

int64 Plan::nbytes() const {
  const int64 structure =
      c ? 8 * static_cast<int64>(c->labels.size() + c->starts.size()) : indptr.nbytes() + indices.nbytes();
  return values_size() * item_size(dtype) + structure;
}

int64 Plan::workspace_nbytes() const {
  return static_cast<int64>(sums.sums.size() * sizeof(Sum) + sums.terms.size() * sizeof(Term));
}

namespace {

bool same_structure(const std::vector<Part>& planned, const std::vector<Part>& given) {
  if (planned.size() != given.size()) return false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Array &p = planned[i].second, &g = given[i].second;
    if (p.size() != g.size() || (p.data != g.data && !same_bytes(p.data, g.data, p.nbytes()))) return false;
  }
  return true;
}

}  // namespace

bool Plan::made_for(const Matrix& m, const LayoutPtr& layout, const std::vector<Part>& structure) const {
  if (!layout) return !m.layout && m.format == "csr" && same_structure(structure, m.structure);
  return m.layout == layout || (m.layout && m.layout->same_as(*layout));
}

void Plan::require(bool holds, const char* name, const Matrix& m) const {
  if (holds) return;
  throw std::invalid_argument(std::string("plan: ") + name + " is " + m.format + " " + std::to_string(m.rows) + " x " +
                              std::to_string(m.cols) +
                              " with another structure than the plan was made for; make a new plan");
}

Matrix Plan::run(const Matrix& left, const Matrix& right, Scalar alpha) const {
  require(made_for(left, a, a_structure), "A", left);
  require(made_for(right, b, b_structure), "B", right);
  Matrix made = result(product_dtype(left.dtype, right.dtype), false);
  run_kernel(left, right, alpha, 0.0, made);
  return made;
}

// alpha multiplies whole sums, as in matvec.hpp: also where it is no number that terms could be scaled by.
void Plan::run_kernel(const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& out) const {
  const MatmulKernel run = multiply(left.dtype, right.dtype);
  if (finite(alpha, out.dtype)) return run(*this, left, right, alpha, beta, out);
  Matrix sum = result(out.dtype, true);
  run(*this, left, right, 1.0, 0.0, sum);
  add_scaled(alpha, sum.values, beta, out.values);
}

void Plan::check_into(const Matrix& left, const Matrix& right, const Matrix& out) const {
  require(made_for(left, a, a_structure), "A", left);
  require(made_for(right, b, b_structure), "B", right);
  const bool fits = c ? made_for(out, c, {}) : made_for(out, c, {{"indices", indices}, {"indptr", indptr}});
  require(fits && out.rows == rows && out.cols == cols, "out", out);
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

namespace {

// Zeroes what lies between the diagonals of a layout whose spans start in ascending order.
void clear_padding(const Layout& layout, Array& values) {
  if (layout.stored() == values.size()) return;
  const int64 item = item_size(values.dtype);
  std::vector<Bytes> gaps;
  int64 end = 0;
  for (const Span& s : layout.spans) {
    if (end < s.start) gaps.push_back({end * item, s.start * item});
    end = s.start + s.length;
  }
  if (end < values.size()) gaps.push_back({end * item, values.nbytes()});
  fill_zero(values.data, gaps);
}

}  // namespace

Matrix Plan::result(DType dtype, bool zero) const {
  if (c) {
    if (zero) return make_diagonal(diagonal_format(format), c, Array::zeros(dtype, c->values_shape));
    Array values = Array::empty(dtype, c->values_shape);
    clear_padding(*c, values);
    return make_diagonal(diagonal_format(format), c, std::move(values));
  }
  Matrix m;
  m.format = format;
  m.dtype = dtype;
  m.rows = rows;
  m.cols = cols;
  m.values = Array::empty(dtype, {indices.size()});
  m.kept = std::make_shared<Kept>();
  m.structure = {{"indices", indices}, {"indptr", indptr}};
  return m;
}

Plan plan_diagonal(const Matrix& a, Op op_a, const Matrix& b, Op op_b, const std::string& format, Triangle triangle,
                   const std::vector<int64>& extra, const std::string& kernel) {
  const DiagonalFormat& target = diagonal_format(format);
  Plan plan;
  plan.format = format;
  plan.dtype = product_dtype(a.dtype, b.dtype);
  plan.device = a.device();
  plan.op_a = op_a;
  plan.op_b = op_b;
  plan.rows = op_a.transposed ? a.cols : a.rows;
  plan.cols = op_b.transposed ? b.rows : b.cols;
  plan.a = a.layout;
  plan.b = b.layout;
  const std::vector<Span> spans_a = spans_of(*a.layout, op_a), spans_b = spans_of(*b.layout, op_b);
  std::vector<int64> offsets = offset_sumset(spans_a, spans_b, plan.rows, plan.cols, triangle);
  if (!extra.empty()) {
    offsets.insert(offsets.end(), extra.begin(), extra.end());
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  }
  plan.triangle = triangle;
  plan.c = std::make_shared<const Layout>(
      target.place(plan.rows, plan.cols, target.labels_for(plan.rows, plan.cols, offsets)));
  plan.sums = product_sums(spans_a, spans_b, *plan.c, triangle);
  const MatmulRow& row = choose_matmul(plan, kernel, a.dtype, b.dtype);
  plan.kernel = row.name;
  plan.multiply = row.typed;
  if (row.prepare) row.prepare(plan);
  return plan;
}

Plan begin_csr(const Matrix& a, const Matrix& b, const MatmulRow& row) {
  if (a.format != csr.name || b.format != csr.name || a.cols != b.rows) {
    throw std::invalid_argument("matmul: a plan by rows takes two csr matrices that fit, got " + a.format + " " +
                                std::to_string(a.rows) + " x " + std::to_string(a.cols) + " and " + b.format + " " +
                                std::to_string(b.rows) + " x " + std::to_string(b.cols));
  }
  Plan plan;
  plan.format = "csr";
  plan.kernel = row.name;
  plan.multiply = row.typed;
  plan.dtype = product_dtype(a.dtype, b.dtype);
  plan.device = a.device();
  plan.rows = a.rows;
  plan.cols = b.cols;
  plan.a_structure = a.structure;
  plan.b_structure = b.structure;
  return plan;
}

Plan plan_elementwise(const Matrix& a, Op op_a, const Matrix& b, Op op_b, LayoutPtr c, const std::string& format) {
  Plan plan;
  plan.format = format;
  const MatmulRow& row = find_matmul(format, "");
  plan.multiply = row.typed;
  plan.dtype = product_dtype(a.dtype, b.dtype);
  plan.device = a.device();
  plan.op_a = op_a;
  plan.op_b = op_b;
  plan.rows = c->rows;
  plan.cols = c->cols;
  plan.a = a.layout;
  plan.b = b.layout;
  plan.sums = elementwise_sums(spans_of(*a.layout, op_a), spans_of(*b.layout, op_b), *c);
  plan.c = std::move(c);
  if (row.prepare) row.prepare(plan);
  return plan;
}

}  // namespace diagsparse
