// Products sampled on a structure: checks sizes, types and overlap, then runs the kernel of the format.
#include "core/sampled.hpp"

#include "core/registry.hpp"
#include "core/validation.hpp"

namespace diagsparse {

RegisterSampled::RegisterSampled(const char* format, int set, Typed<SampledKernel> (*make)()) {
  Registry<Typed<SampledKernel>>::add(format, set, make);
}

SampledKernel sampled_kernel(const std::string& format, DType dtype) {
  const auto* const kernels = Registry<Typed<SampledKernel>>::find(format);
  if (kernels != nullptr && (*kernels)(dtype, dtype) != nullptr) return (*kernels)(dtype, dtype);
  throw std::invalid_argument("sampled_product: no kernel for " + format + " of " + dtype_name(dtype) + " values");
}

Matrix sampled_result(const Matrix& pattern, DType dtype) {
  Matrix result{pattern.structure, Array::empty(dtype, pattern.values.shape)};
  clear_unwritten(result);
  return result;
}

void clear_unwritten(Matrix& c) {
  const Structure& structure = *c.structure;
  if (c.values.shape == structure.values_shape) return structure.clear_padding(c.values);
  if (structure.stored() != structure.values_shape.size()) fill_zero(c.values.data, {{0, c.values.nbytes()}});
}

void sampled_product(const Dense& x, const Dense& y, Matrix& c) {
  const SampledKernel run = sampled_kernel(c.format, c.dtype);
  if (x.rows != c.rows || y.rows != c.cols || x.cols != y.cols || x.dtype != c.dtype || y.dtype != c.dtype) {
    throw std::invalid_argument("sampled_product: X is " + extents(x.rows, x.cols) + ", Y is " +
                                extents(y.rows, y.cols) + ", but C is " + extents(c.rows, c.cols));
  }
  if (overlap(x, c.values) || overlap(y, c.values)) {
    throw std::invalid_argument("sampled_product: X or Y is part of the values of out");
  }
  if (c.values.size() > 0) run(x, y, c);
}

}  // namespace diagsparse
