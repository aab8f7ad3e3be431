// The kernels that dia, hm and cdm share; each format's table names the ones it offers.
#pragma once

#include "core/matrix.hpp"
#include "kernels/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// y = alpha op(A) x + beta y
Typed<MatvecKernel> matvec_row_tiles();
Typed<MatvecKernel> matvec_sequential();

// C = alpha op(A) op(B) + beta C
Typed<MatmulKernel> matmul_row_tiles();
Typed<MatmulKernel> matmul_sequential();

// Fills a table of `Kernel<U, V>::run` over the supported pairs of value types.
template <template <class, class> class Kernel, class U, class V, class Function>
void fill_cell(Typed<Function>& typed) {
  if constexpr (pair_supported<U, V>) {
    typed.at[static_cast<int>(dtype_of<U>())][static_cast<int>(dtype_of<V>())] = &Kernel<U, V>::run;
  }
}
template <template <class, class> class Kernel, class U, class Function>
void fill_row(Typed<Function>& typed) {
  fill_cell<Kernel, U, float>(typed);
  fill_cell<Kernel, U, double>(typed);
  fill_cell<Kernel, U, Complex<float>>(typed);
  fill_cell<Kernel, U, Complex<double>>(typed);
}
template <template <class, class> class Kernel, class Function>
Typed<Function> every_pair() {
  Typed<Function> typed;
  fill_row<Kernel, float>(typed);
  fill_row<Kernel, double>(typed);
  fill_row<Kernel, Complex<float>>(typed);
  fill_row<Kernel, Complex<double>>(typed);
  return typed;
}

}  // namespace diagsparse::DIAGSPARSE_ISA
