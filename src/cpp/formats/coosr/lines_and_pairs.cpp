// Code shared by coosr and coosc: conversions, validation, and the kernels of csr, csc and coo on their arrays.
#include "formats/coosr/lines_and_pairs.hpp"

#include "core/backend.hpp"
#include "core/convert.hpp"
#include "core/validation.hpp"
#include "formats/coo/layout.hpp"
#include "formats/csc/layout.hpp"

namespace diagsparse {

namespace {

// The array that holds the line (row or column) of each entry, and the one that holds its position within the line.
const char* line_of(const char* format) { return by_column(format) ? "col" : "row"; }
const char* within_line(const char* format) { return by_column(format) ? "row" : "col"; }

Matrix viewed(const Matrix& m, const Format& as, bool transposed, std::vector<Part> arrays) {
  const int64 rows = transposed ? m.cols : m.rows, cols = transposed ? m.rows : m.cols;
  return {static_cast<const Indices&>(*m.structure).as(as.name, rows, cols, std::move(arrays)), m.values};
}

// The default kernel of csr or csc.
template <class U, class V>
struct ByLines {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Matrix lines = as_lines(m);
    find_matvec(lines.format, "").typed(dtype_of<U>(), dtype_of<V>())(lines, op, alpha, x, beta, y);
  }
};
void prepare_lines(const Matrix& m, Op op) {
  const Matrix lines = as_lines(m);
  const MatvecRow& row = find_matvec(lines.format, "");
  if (row.prepare) row.prepare(lines, op);
}

constexpr const char* kByEntries = "entry";

template <class U, class V>
struct ByEntries {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Matrix pairs = as_pairs(m, op);
    find_matvec(coo.name, kByEntries).typed(dtype_of<U>(), dtype_of<V>())(pairs, op, alpha, x, beta, y);
  }
};

}  // namespace

Matrix as_lines(const Matrix& m) {
  const char* const name = m.structure->format;
  const Format& lines = by_column(name) ? static_cast<const Format&>(csc) : csr;
  return viewed(m, lines, false, {{"indices", m.index(within_line(name))}, {"indptr", m.index("indptr")}});
}

Matrix as_pairs(const Matrix& m, Op& op) {
  const char* const name = m.structure->format;
  op.transposed ^= by_column(name);
  return viewed(m, coo, by_column(name), {{"row", m.index(line_of(name))}, {"col", m.index(within_line(name))}});
}

Matrix lines_and_pairs_from_csr(const Matrix& csr, const Format& format, const Options&) {
  const Matrix lines = by_column(format.name) ? convert(csr, {}, csc.name) : csr;
  const Matrix pairs = convert(by_column(format.name) ? transposed_csr(lines) : lines, {}, coo.name);
  const Array &line = pairs.index("row"), &within = pairs.index("col");
  std::vector<Part> arrays{{"row", by_column(format.name) ? within : line},
                           {"col", by_column(format.name) ? line : within},
                           {"indptr", lines.index("indptr")}};
  return {value_for_each(format, csr.rows, csr.cols, std::move(arrays)), lines.values};
}

Matrix csr_from_lines_and_pairs(const Matrix& a, Op op) { return convert(as_lines(a), op, common->name); }

void check_lines_and_pairs(const Matrix& m) {
  const int64 count = m.values.size();
  const bool columns = by_column(m.format);
  const int64 lines = columns ? m.cols : m.rows, extent = columns ? m.rows : m.cols;
  check_parts(m, {{"row", DType::i32, {count}}, {"col", DType::i32, {count}}, {"indptr", DType::i64, {lines + 1}}});
  const char* const line = line_of(m.structure->format);
  check_lines(m, "indptr", within_line(m.structure->format), lines, extent, line);
  const Matrix view = as_lines(m);
  const Matrix pairs = convert(columns ? transposed_csr(view) : view, {}, coo.name);
  const Array &expected = pairs.index("row"), &given = m.index(line);
  if (!same_bytes(expected.data, given.data, given.nbytes())) {
    reject(m.format, std::string(line) + " and indptr disagree");
  }
}

FormatKernels kernels_on_lines_and_pairs(const char* lines_default) {
  return {{{lines_default, every_pair<ByLines, MatvecKernel>(), prepare_lines},
           {kByEntries, every_pair<ByEntries, MatvecKernel>()}},
          {}};
}

}  // namespace diagsparse
