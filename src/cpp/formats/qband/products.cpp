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

Plan plan_quasi_bands(const Format& format, const Matrix& a, Op op_a, const Matrix& b, Op op_b,
                      const Request& request) {
  for (const Matrix* m : {&a, &b}) {
    if (m->format != format.name) {
      throw std::invalid_argument("matmul: a plan of quasi-bands takes two qband matrices, got " + a.format + " and " +
                                  b.format);
    }
  }
  const MatmulRow& row = find_matmul(format.name, request.kernel);  // raises before the work
  Plan plan = begin_plan(a, op_a, b, op_b);
  const auto work = std::make_shared<QuasiBandWork>();
  Request bands_request;
  bands_request.format = dia.name;
  work->bands = plan_matmul(bands_of(a), op_a, bands_of(b), op_b, bands_request);
  RestOfProduct rest =
      rest_of_product({*a.structure, op_a}, {*b.structure, op_b}, layout_of(work->bands.c), item_size(plan.dtype));
  work->rest = std::move(rest.work);
  plan.c = std::make_shared<const Several>(format.name, std::vector<StructurePtr>{work->bands.c, rest.structure});
  plan.work = work;
  plan.repeated = request.repeated;
  finish_plan(plan, row);
  return plan;
}

void multiply_bands(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
  Matrix bands = bands_of(c);
  quasi_band_work(plan).bands.run_into(bands_of(a), bands_of(b), alpha, beta, bands);
}

}  // namespace diagsparse
