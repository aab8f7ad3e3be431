// Defines the Format of coosr.
#include "formats/coosr/layout.hpp"
#include "formats/coosr/lines_and_pairs.hpp"

namespace diagsparse {

const Format coosr{.name = "coosr",
                   .extent = kIndexExtent,
                   .structure = value_for_each,
                   .check = check_lines_and_pairs,
                   .from_csr = lines_and_pairs_from_csr,
                   .to_csr = csr_from_lines_and_pairs};

}  // namespace diagsparse
