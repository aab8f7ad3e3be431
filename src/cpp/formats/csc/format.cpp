// Defines the Format of csc.
#include "core/convert.hpp"
#include "formats/csc/layout.hpp"

namespace diagsparse {

const EntryFormat csc{entry_table("csc", "csr"), true, true};

}  // namespace diagsparse
