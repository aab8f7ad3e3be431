// Every format, a line each.
#pragma once

#include "formats/cdm.hpp"
#include "formats/coo.hpp"
#include "formats/csc.hpp"
#include "formats/csr.hpp"
#include "formats/dia.hpp"
#include "formats/hm.hpp"

namespace diagsparse {

inline const DiagonalFormat* const diagonal_formats[] = {&dia, &hm, &cdm};
inline const IndexFormat* const index_formats[] = {&csr, &csc, &coo};

}  // namespace diagsparse
