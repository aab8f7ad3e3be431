// Defines the Format of coo.
#include "core/convert.hpp"
#include "formats/coo/layout.hpp"

namespace diagsparse {

const EntryFormat coo{entry_table("coo", nullptr), false, false};

}  // namespace diagsparse
