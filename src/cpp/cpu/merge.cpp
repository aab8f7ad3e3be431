// Combining csr, csc and coo matrices elementwise on the CPU.
#include "cpu/merge.hpp"

#include "core/summary.hpp"

namespace diagsparse {

using namespace merging;

namespace {

// A matrix with the structure of `a` and these values, without zeros.
template <class T>
Matrix without_zeros(const Side& a, const Array& values) {
  const T* v = values.as<T>();
  if (count_runs({a.structure, values}, {{0, values.size()}})[0] == values.size()) return {a.structure, values};
  return with_positions(a, [&](auto* positions) {
    using Positions = std::remove_pointer_t<decltype(positions)>;
    return matrix_of(a, filtered<T, Positions, true>(a, v, [=](int64 e) { return !is_zero(v[e]); }));
  });
}

// Combines values on the same structure, where no merge is needed.
template <class T, Join How>
Array combine_values(const Side& a, const Side& b) {
  const int64 count = a.values.size(), tasks = (count + kEntries - 1) / kEntries;
  Array values = Array::empty(a.dtype, {count});
  const T *u = a.values.as<T>(), *v = b.values.as<T>();
  T* to = values.as<T>();
  parallel_for(tasks, count, [&](int64 t) {
    const int64 first = t * kEntries, last = std::min(count, first + kEntries);
    for (int64 e = first; e < last; ++e) to[e] = join<How>(u[e], v[e]);
  });
  return values;
}

template <class T, Join How>
Matrix merged_pair(const Side& a, const Side& b, bool zeros) {
  if (a.structure->same_as(*b.structure)) {
    const Array values = combine_values<T, How>(a, b);
    return zeros ? Matrix(a.structure, values) : without_zeros<T>(a, values);
  }
  return with_positions(a, [&](auto* positions) {
    return matrix_of(a, merged<T, std::remove_pointer_t<decltype(positions)>, How>(a, b, zeros));
  });
}

}  // namespace

Matrix combine_entries(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                       DType dtype) {
  const Side a(terms[0], format, dtype);
  return with_value_type(dtype, [&](auto zero) -> Matrix {
    using T = decltype(zero);
    if (terms.size() == 1) return zeros ? Matrix(a) : without_zeros<T>(a, a.values);
    const bool subtracted = how == Combine::sum && terms[1].factor == -1.0;  // saves a pass over its values
    const Side b(terms[1], format, dtype, subtracted);
    if (how == Combine::product) return merged_pair<T, Join::product>(a, b, zeros);
    return subtracted ? merged_pair<T, Join::difference>(a, b, zeros) : merged_pair<T, Join::sum>(a, b, zeros);
  });
}

}  // namespace diagsparse
