// Defines the Format of jds, validates its arrays, and computes the sections of a matrix.
#include <algorithm>

#include "core/convert.hpp"
#include "core/summary.hpp"
#include "formats/jds/layout.hpp"

namespace diagsparse {

namespace {

void check_sections(const Jds<float>& a) {
  const Fault fault = fault_in_sections(a);
  if (fault.kind == Fault::pointers) {
    reject(jds.name, "section_rows or section_indptr is wrong at " + std::to_string(fault.at) +
                         "; expected section_rows to rise from 0 to at most " + std::to_string(a.rows) +
                         ", section_indptr from 0 to " + std::to_string(a.stored));
  }
  if (fault.kind == Fault::order) {
    reject(jds.name, "section " + std::to_string(fault.at) +
                         " has rows of different lengths, or its length is not below that of the previous section");
  }
}

void check_row_order(const Structure& structure) {
  const Fault fault = StoredRows<Jds>::fault_in_row_order(structure);
  const std::string element = element_name("row_order", fault.at);
  if (fault.kind == Fault::outside) {
    reject(jds.name, element + " lies outside, expected 0 to " + std::to_string(structure.rows - 1));
  }
  if (fault.kind == Fault::order) {
    reject(jds.name, element +
                         " is there already, or does not come after the one before it; expected every row once, "
                         "those of a section ascending");
  }
}

void check(const Matrix& m) {
  const int64 boundaries = std::max<int64>(1, m.index("section_rows").size());
  check_parts(m, {{"indices", DType::i32, m.structure->values_shape},
                  {"row_order", DType::i32, {m.rows}},
                  {"section_rows", DType::i32, {boundaries}},
                  {"section_indptr", DType::i64, {boundaries}}});
  check_sections(Jds<float>::over(*m.structure, nullptr));
  check_row_order(*m.structure);
  const Fault fault = StoredRows<Jds>::fault_in_entries(*m.structure);
  check_stored_columns(m, fault, element_name("indices", fault.at), "");
}

Matrix from_csr(const Matrix& csr, const Format& format, const Options&) {
  RowLengths lengths = row_lengths(csr, {});
  std::reverse(lengths.begin(), lengths.end());
  std::vector<std::int32_t> section_rows{0};
  std::vector<int64> section_indptr{0};
  for (const auto& [length, rows] : lengths) {
    if (length == 0) continue;
    section_rows.push_back(static_cast<std::int32_t>(section_rows.back() + rows));
    section_indptr.push_back(section_indptr.back() + length * rows);
  }
  const int64 count = csr.values.size();
  std::vector<Part> arrays{{"indices", Array::empty(DType::i32, {count})},
                           {"row_order", rows_by_length(csr, std::max<int64>(1, csr.rows))},
                           {"section_rows", array_of(section_rows)},
                           {"section_indptr", array_of(section_indptr)}};
  const Matrix result{value_for_each(format, csr.rows, csr.cols, std::move(arrays)), Array::empty(csr.dtype, {count})};
  StoredRows<Jds>::fill(csr, result);
  return result;
}

Matrix to_csr(const Matrix& a, Op op) { return convert(StoredRows<Jds>::to_csr(a), op, common->name); }

}  // namespace

const Format jds{.name = "jds",
                 .extent = kIndexExtent,
                 .structure = value_for_each,
                 .check = check,
                 .from_csr = from_csr,
                 .to_csr = to_csr};

}  // namespace diagsparse
