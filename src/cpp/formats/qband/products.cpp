// Plans of products of quasi-band matrices.
#include "formats/qband/products.hpp"

#include "core/format.hpp"
#include "core/several.hpp"
#include "formats/dia/layout.hpp"
#include "formats/qband/layout.hpp"

namespace diagsparse {

namespace {

const std::vector<Several::Child>& children(const Structure& s) { return dynamic_cast<const Several&>(s).children(); }

}  // namespace

Matrix bands_of(const Matrix& m) {
  const Several::Child& child = children(*m.structure)[0];
  return {child.structure, m.values.slice(child.first, child.structure->values_shape)};
}

QuasiBand::QuasiBand(const Structure& structure, Op op)
    : bands(layout_of(children(structure)[0].structure)),
      rest(static_cast<const Indices&>(*children(structure)[1].structure)),
      op(op),
      rest_first(children(structure)[1].first) {}

void plan_quasi_bands(Plan& plan, const Matrix& a, const Matrix& b, const Request&) {
  const auto work = std::make_shared<QuasiBandWork>();
  Request bands_request;
  bands_request.format = dia.name;
  work->bands = plan_matmul(bands_of(a), plan.op_a, bands_of(b), plan.op_b, bands_request);
  RestOfProduct rest = rest_of_product({*a.structure, plan.op_a}, {*b.structure, plan.op_b}, layout_of(work->bands.c),
                                       item_size(plan.dtype));
  work->rest = std::move(rest.work);
  plan.c = std::make_shared<const Several>(qband.name, std::vector<StructurePtr>{work->bands.c, rest.structure});
  plan.work = work;
}

void multiply_bands(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
  Matrix bands = bands_of(c);
  quasi_band_work(plan).bands.run_into(bands_of(a), bands_of(b), alpha, beta, bands);
}

}  // namespace diagsparse
