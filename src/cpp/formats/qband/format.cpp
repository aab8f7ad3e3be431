// Defines the Format of qband, validates its arrays, and divides a matrix into bands and a remainder.
#include "core/convert.hpp"
#include "core/several.hpp"
#include "core/summary.hpp"
#include "core/validation.hpp"
#include "formats/coosr/layout.hpp"
#include "formats/dia/layout.hpp"
#include "formats/qband/layout.hpp"
#include "formats/qband/products.hpp"

namespace diagsparse {

namespace {

StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  return structure_of_children(format, rows, cols, std::move(arrays), {dia.name, coosr.name});
}

Matrix from_csr(const Matrix& csr, const Format& format, const Options& options) {
  Matrix bands = zeros_on(dia, csr.rows, csr.cols, listed(options, "offsets"), csr.dtype);
  if (csr.values.size() > 0) scatter_to_diagonals(csr, bands);
  return joined(format, {bands, convert(entries_outside(csr, bands.layout()), {}, coosr.name)});
}

void check(const Matrix& m) {
  check_each_child(m);
  const std::vector<Matrix> children = children_of(m);
  const ByOffset bands(children[0].layout().spans);
  for (const int64 offset : occupied_diagonals(convert(children[1], {}, common->name), {})) {
    if (bands.find(offset) < 0) continue;
    reject(m.format,
           "coosr_row and coosr_col have entries on diagonal " + std::to_string(offset) + ", which dia_offsets stores");
  }
}

}  // namespace

const Format qband{.name = "qband",
                   .extent = kIndexExtent,
                   .structure = over,
                   .check = check,
                   .plan = plan_quasi_bands,
                   .from_csr = from_csr,
                   .to_csr = children_to_csr};

}  // namespace diagsparse
