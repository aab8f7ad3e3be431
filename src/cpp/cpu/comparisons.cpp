// Elementwise comparison of sorted entries on the CPU.
#include "cpu/comparisons.hpp"

#include "cpu/merge.hpp"

namespace diagsparse {

using namespace merging;

std::vector<Part> unequal_places(const std::string& name, const ScaledMatrix& first, const ScaledMatrix& second,
                                 DType dtype) {
  const Matrix& m = *first.matrix;
  require_shape(*second.matrix, second.op, first.op.transposed ? m.cols : m.rows, first.op.transposed ? m.rows : m.cols,
                "unequal_places");
  const Format& format = format_of(name);
  const Side a(first, format, dtype), b(second, format, dtype);
  return with_value_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    return with_positions(a, [&](auto* positions) {
      using Positions = std::remove_pointer_t<decltype(positions)>;
      if (!a.structure->same_as(*b.structure)) return merged<T, Positions, Join::unequal>(a, b, false).positions;
      const T *u = a.values.template as<T>(), *v = b.values.template as<T>();
      const auto differ = [=](int64 e) { return !equal(u[e], v[e]); };
      return filtered<T, Positions, false>(a, static_cast<const T*>(nullptr), differ).positions;
    });
  });
}

std::vector<Part> named_places(const Matrix& a, const bool* keep) {
  const Side all({&a, {}, 1.0}, format_of(a.format), a.dtype);
  return with_positions(all, [&](auto* positions) {
    using Positions = std::remove_pointer_t<decltype(positions)>;
    const float* const none = nullptr;
    return filtered<float, Positions, false>(all, none, [=](int64 e) { return keep[e]; }).positions;
  });
}

}  // namespace diagsparse
