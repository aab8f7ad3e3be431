// Element-wise comparisons of sorted entries on the CPU.
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
    return with_places(a, [&](auto* places) {
      using Places = std::remove_pointer_t<decltype(places)>;
      if (!a.structure->same_as(*b.structure)) return walked<T, Places, Join::unequal>(a, b, false).places;
      const T *u = a.values.template as<T>(), *v = b.values.template as<T>();
      const auto differ = [=](int64 e) { return !equal(u[e], v[e]); };
      return filtered<T, Places, false>(a, static_cast<const T*>(nullptr), differ).places;
    });
  });
}

std::vector<Part> named_places(const Matrix& a, const bool* keep) {
  const Side all({&a, {}, 1.0}, format_of(a.format), a.dtype);
  return with_places(all, [&](auto* places) {
    using Places = std::remove_pointer_t<decltype(places)>;
    const float* const none = nullptr;
    return filtered<float, Places, false>(all, none, [=](int64 e) { return keep[e]; }).places;
  });
}

}  // namespace diagsparse
