// Defines the Format of csc, and validates its arrays.
#include "core/convert.hpp"
#include "core/validation.hpp"
#include "formats/csc/layout.hpp"

namespace diagsparse {

namespace {

void check(const Matrix& m) {
  check_shape(csc, m.rows, m.cols);
  check_parts(m, {{"indices", DType::i32, {m.values.size()}}, {"indptr", DType::i64, {m.cols + 1}}});
  if (!check_lines("csc_array", m.index("indptr"), m.index("indices"), m.cols, m.rows)) {
    throw std::invalid_argument("csc_array: indices do not rise in each column");
  }
}

}  // namespace

const EntryFormat csc{{.name = "csc",
                       .family = &entry_family,
                       .extent = kIndexExtent,
                       .structure = value_for_each,
                       .check = check,
                       .multiplies_as = "csr",
                       .combine = combine_entries,
                       .from_csr = entries_from_csr,
                       .to_csr = entries_to_csr,
                       .dual = "csr"},
                      true,
                      true};

}  // namespace diagsparse
