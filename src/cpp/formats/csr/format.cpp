// Defines the Format of csr.
#include "core/convert.hpp"
#include "formats/csr/layout.hpp"

namespace diagsparse {

const EntryFormat csr{entry_table("csr", "csc", plan_rows), false, true};

}  // namespace diagsparse
