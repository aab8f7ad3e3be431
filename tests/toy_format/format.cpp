// pell: its entry in the list of formats, validation, and conversions.
#include "core/convert.hpp"
#include "core/summary.hpp"
#include "formats/pell/layout.hpp"

namespace diagsparse {

namespace {

void check(const Matrix& m) {
  const Shape shape{m.rows, m.structure->values_shape.cols};
  check_parts(m, {{"indices", DType::i32, shape}});
  const Fault fault = StoredRows<Pell>::fault_in_entries(*m.structure);
  check_stored_columns(m, fault, element_name("indices", fault.at, shape.cols), ", or -1 for padding");
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
                  .structure = padded_structure,
                  .check = check,
                  .from_csr = from_csr,
                  .to_csr = to_csr};

}  // namespace diagsparse
