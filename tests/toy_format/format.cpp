// pell: its entry in the list of formats, validation, and conversions.
#include "core/convert.hpp"
#include "core/summary.hpp"
#include "formats/pell/layout.hpp"

namespace diagsparse {

namespace {

StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  const Array& indices = arrays.front().second;
  const Shape shape = indices.shape;
  const int64 stored = indices.dtype == DType::i32 ? count_unpadded(indices) : 0;  // `check` refuses others
  return std::make_shared<const Indices>(format.name, rows, cols, std::move(arrays), shape, stored);
}

void check(const Matrix& m) {
  check_shape(pell, m.rows, m.cols);
  check_parts(m, {{"indices", DType::i32, {m.rows, m.structure->values_shape.cols}}});
  const Fault fault = StoredRows<Pell>::fault_in_entries(*m.structure);
  if (fault.kind != Fault::none) throw std::invalid_argument("pell_array: wrong at " + std::to_string(fault.at));
}

Matrix from_csr(const Matrix& csr, const Format& format, const Options&) {
  const Shape shape{csr.rows, longest_row(csr)};
  std::vector<Part> arrays{{"indices", Array::empty(DType::i32, shape)}};
  const Matrix result{
      std::make_shared<const Indices>(format.name, csr.rows, csr.cols, std::move(arrays), shape, csr.values.size()),
      Array::empty(csr.dtype, shape)};
  StoredRows<Pell>::fill(csr, result);
  return result;
}

Matrix to_csr(const Matrix& a, Op op) { return convert(StoredRows<Pell>::to_csr(a), op, common->name); }

}  // namespace

const Format pell{.name = "pell",
                  .extent = kIndexExtent,
                  .structure = over,
                  .check = check,
                  .multiplies_as = "csr",
                  .from_csr = from_csr,
                  .to_csr = to_csr};

}  // namespace diagsparse
