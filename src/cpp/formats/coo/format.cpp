// Defines the Format of coo, and validates its arrays.
#include "core/convert.hpp"
#include "core/validation.hpp"
#include "formats/coo/layout.hpp"

namespace diagsparse {

namespace {

void check(const Matrix& m) {
  check_shape(coo, m.rows, m.cols);
  const int64 count = m.values.size();
  check_parts(m, {{"row", DType::i32, {count}}, {"col", DType::i32, {count}}});
  const Fault fault = fault_in_pairs(m.index("row"), m.index("col"), m.rows, m.cols);
  if (fault.kind == Fault::none) return;
  const std::string entry = "coo_array: entry " + std::to_string(fault.at);
  if (fault.kind == Fault::order) throw std::invalid_argument(entry + " does not come after the one before it");
  throw std::invalid_argument(entry + " does not lie in a " + std::to_string(m.rows) + " x " + std::to_string(m.cols) +
                              " matrix");
}

}  // namespace

const EntryFormat coo{{.name = "coo",
                       .family = &entry_family,
                       .extent = kIndexExtent,
                       .structure = value_for_each,
                       .check = check,
                       .multiplies_as = "csr",
                       .combine = combine_entries,
                       .from_csr = entries_from_csr,
                       .to_csr = entries_to_csr},
                      false,
                      false};

}  // namespace diagsparse
