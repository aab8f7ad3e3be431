#include "formats/csc.hpp"

#include "core/convert.hpp"
#include "core/gate.hpp"

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

const EntryFormat csc{{"csc", kIndexExtent, value_for_each, check, nullptr, "csr", entries_from_csr, entries_to_csr,
                       entries_across, "csr"},
                      true,
                      true};

}  // namespace diagsparse
