// Defines the Format of csr, and validates its arrays.
#include "core/convert.hpp"
#include "core/validation.hpp"
#include "formats/csr/layout.hpp"

namespace diagsparse {

namespace {

void check(const Matrix& m) {
  check_shape(csr, m.rows, m.cols);
  check_parts(m, {{"indices", DType::i32, {m.values.size()}}, {"indptr", DType::i64, {m.rows + 1}}});
  if (!check_lines("csr_array", m.index("indptr"), m.index("indices"), m.rows, m.cols)) {
    throw std::invalid_argument("csr_array: indices do not rise in each row");
  }
}

}  // namespace

const EntryFormat csr{{.name = "csr",
                       .family = &entry_family,
                       .extent = kIndexExtent,
                       .structure = value_for_each,
                       .check = check,
                       .plan = plan_rows,
                       .multiplies_as = "csr",
                       .combine = combine_entries,
                       .to_csr = entries_to_csr,
                       .dual = "csc"},
                      false,
                      true};

}  // namespace diagsparse
