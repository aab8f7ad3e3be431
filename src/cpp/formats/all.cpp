// The list of all formats. A new format needs an include and an element here.
#include "formats/bmsparse/layout.hpp"
#include "formats/cdm/layout.hpp"
#include "formats/coo/layout.hpp"
#include "formats/coosc/layout.hpp"
#include "formats/coosr/layout.hpp"
#include "formats/csb/layout.hpp"
#include "formats/csc/layout.hpp"
#include "formats/csr/layout.hpp"
#include "formats/dia/layout.hpp"
#include "formats/ell/layout.hpp"
#include "formats/ellcsr/layout.hpp"
#include "formats/hm/layout.hpp"
#include "formats/hyb/layout.hpp"
#include "formats/jds/layout.hpp"
#include "formats/mdia/layout.hpp"
#include "formats/qband/layout.hpp"
#include "formats/sell/layout.hpp"

namespace diagsparse {

namespace {

// A line each.
// clang-format off
constexpr const Format* kFormats[] = {
    &dia,
    &hm,
    &cdm,
    &mdia,
    &csr,
    &csc,
    &coo,
    &coosr,
    &coosc,
    &ell,
    &hyb,
    &sell,
    &jds,
    &csb,
    &ellcsr,
    &qband,
    &bmsparse,
};
// clang-format on

}  // namespace

const std::span<const Format* const> formats = kFormats;
const Format* const common = &csr;

}  // namespace diagsparse
