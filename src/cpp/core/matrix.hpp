// A matrix of any format: its values, and the structure that gives their positions.
#pragma once

#include "core/diagonals.hpp"
#include "core/structure.hpp"

namespace diagsparse {

struct Matrix {
  StructurePtr structure;
  Array values;
  // Copies of frequently used members of the two.
  std::string format;
  DType dtype = DType::f64;
  int64 rows = 0, cols = 0;

  Matrix() = default;
  Matrix(StructurePtr structure, Array values);

  const Layout& layout() const { return dynamic_cast<const Layout&>(*structure); }  // for diagonal formats
  const Array& index(const char* name) const { return dynamic_cast<const Indices&>(*structure).at(name); }
  const Cache& cache() const { return structure->cache(); }

  std::vector<Part> parts() const;  // all component arrays by name, the values first
  int64 nbytes() const { return values.nbytes() + structure->nbytes(); }
  int device() const { return values.device; }
};

}  // namespace diagsparse
