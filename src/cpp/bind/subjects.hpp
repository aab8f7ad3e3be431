// The subjects of the bindings: one file each, the same in both modules.
#pragma once

#include <pybind11/pybind11.h>

namespace diagsparse {

void bind_matrices(pybind11::module_& m);
void bind_products(pybind11::module_& m);
void bind_plans(pybind11::module_& m);
void bind_conversions(pybind11::module_& m);
void bind_tables(pybind11::module_& m);
void bind_elementwise(pybind11::module_& m);
void bind_multigrid(pybind11::module_& m);  // of `_core` alone
void bind_triangles(pybind11::module_& m);  // likewise
void bind_batches(pybind11::module_& m);
void bind_xla(pybind11::module_& m);

}  // namespace diagsparse
