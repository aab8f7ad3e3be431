// Rows of entries as csr stores them (drawn in formats/csr/layout.hpp). Every other format converts to and from this
// layout, which is `common` in core/format.hpp.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

// Row i holds the entries e from indptr[i] to indptr[i + 1] - 1: A[i, indices[e]] = values[e].
template <class T>
struct Csr {
  int64 rows, cols;
  const int64* indptr;
  const std::int32_t* indices;
  const T* values;

  static Csr of(const Matrix& m) {
    return {m.rows, m.cols, m.index("indptr").as<int64>(), m.index("indices").as<std::int32_t>(), m.values.as<T>()};
  }
};

}  // namespace diagsparse
