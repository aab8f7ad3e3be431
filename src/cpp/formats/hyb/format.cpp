// Defines the Format of hyb, as a combination of ell and coo.
#include "core/convert.hpp"
#include "core/several.hpp"
#include "formats/coo/layout.hpp"
#include "formats/ell/layout.hpp"
#include "formats/hyb/layout.hpp"

namespace diagsparse {

namespace {

StructurePtr over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  return structure_of_children(format, rows, cols, std::move(arrays), {ell.name, coo.name});
}

void check(const Matrix& m) {
  check_children(m);
  const DType type = children_of(m).front().index("indices").dtype;  // ell also has shorter ones
  if (type != DType::i32) reject(m.format, std::string("ell_indices is ") + dtype_name(type) + ", expected int32");
}

Matrix from_csr(const Matrix& csr, const Format& format, const Options& options) {
  const int64 width = option(options, "width");  // by default Python selects the width with the fewest bytes
  return joined(format, {ell_from_csr(csr, width, false), convert(rest_of_rows(csr, width), {}, coo.name)});
}

}  // namespace

const Format hyb{.name = "hyb",
                 .extent = kIndexExtent,
                 .structure = over,
                 .check = check,
                 .from_csr = from_csr,
                 .to_csr = children_to_csr};

}  // namespace diagsparse
