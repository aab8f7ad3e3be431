// The operands and the result of kernels for the rest of a product of quasi-bands, As Bb + Ab Bs + As Bs.
#pragma once

#include <vector>

#include "core/arithmetic.hpp"
#include "formats/qband/rest_rows.hpp"

namespace diagsparse {

// op(A): the elements (i, i + offset) of its bands, and the entries of its rest row by row.
template <class U>
struct QuasiBandValues {
  const Operand bands;
  const RowsOfRest& rest;
  const U *band_values, *rest_values;
  const bool conj;
  std::vector<int64> row_0;  // where row 0 of each diagonal would be stored

  QuasiBandValues(const QuasiBand& a, const RowsOfRest& rest, const Matrix& m)
      : bands(spans_of(a.bands, a.op)),
        rest(rest),
        band_values(m.values.as<U>()),
        rest_values(band_values + a.rest_first),
        conj(a.op.conjugated) {
    for (const Span& s : bands.spans) row_0.push_back(s.start - s.row);
  }

  U band(int64 diagonal, int64 i) const { return conjugate_if(conj, band_values[row_0[diagonal] + i]); }
  U entry(int64 e) const { return conjugate_if(conj, rest_values[rest.position(e)]); }
  int64 row(int64 e) const { return rest.row()[e]; }
  int64 column(int64 e) const { return rest.column()[e]; }
  int64 begin(int64 i) const { return rest.pointers()[i]; }
};

// C, to which the rest of a product is added.
template <class T>
struct RestOfResult {
  T *bands, *rest;
  const int64* indptr;  // of the entries outside of the bands
  const std::int32_t* columns;
  const std::vector<Span>& spans;
  const ByOffset numbers;

  RestOfResult(const Plan& plan, Matrix& c) : RestOfResult(QuasiBand(*plan.c, {}), c.values.as<T>()) {}

  // Element (i, j), which is on a band.
  T& on_band(int64 i, int64 j) const {
    const Span& s = spans[numbers.find(j - i)];
    return bands[s.start + i - s.row];
  }

 private:
  RestOfResult(const QuasiBand& c, T* values)
      : bands(values),
        rest(values + c.rest_first),
        indptr(c.rest.at("indptr").template as<int64>()),
        columns(c.rest.at("col").template as<std::int32_t>()),
        spans(c.bands.spans),
        numbers(spans) {}
};

inline const RestOnCpu& rest_on_cpu(const Plan& plan) {
  return static_cast<const RestOnCpu&>(*quasi_band_work(plan).rest);
}

}  // namespace diagsparse
