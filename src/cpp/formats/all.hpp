// Every format, a line each.
#pragma once

#include "formats/bmsparse.hpp"
#include "formats/cdm.hpp"
#include "formats/coo.hpp"
#include "formats/coosc.hpp"
#include "formats/coosr.hpp"
#include "formats/csb.hpp"
#include "formats/csc.hpp"
#include "formats/csr.hpp"
#include "formats/dia.hpp"
#include "formats/ell.hpp"
#include "formats/ellcsr.hpp"
#include "formats/hm.hpp"
#include "formats/hyb.hpp"
#include "formats/jds.hpp"
#include "formats/mdia.hpp"
#include "formats/qband.hpp"
#include "formats/sell.hpp"

namespace diagsparse {

inline const Format* const formats[] = {&dia, &hm,  &cdm,  &mdia, &csr, &csc,    &coo,   &coosr,   &coosc,
                                        &ell, &hyb, &sell, &jds,  &csb, &ellcsr, &qband, &bmsparse};

}  // namespace diagsparse
