// Formats that consist of several matrices: conversion, validation and products, child by child.
#include "core/several.hpp"

#include "core/convert.hpp"
#include "core/elementwise.hpp"
#include "core/validation.hpp"

namespace diagsparse {

namespace {

const Several& several(const Matrix& m) { return dynamic_cast<const Several&>(*m.structure); }

void run_children(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  for (const Matrix& child : children_of(a)) {
    matvec_kernel(find_matvec(child.format, ""), child.dtype, x.dtype)(child, op, alpha, x, beta, y);
    beta = 1.0;  // the others add to it
  }
}

void prepare_children(const Matrix& a, Op op) {
  for (const Matrix& child : children_of(a)) {
    const MatvecRow& row = find_matvec(child.format, "");
    if (row.prepare) row.prepare(child, op);
  }
}

// The same function for all types: the kernels of the children depend on them.
template <class U, class V>
struct EachChild {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    run_children(a, op, alpha, x, beta, y);
  }
};

}  // namespace

std::vector<Matrix> children_of(const Matrix& m) {
  std::vector<Matrix> all;
  for (const Several::Child& child : several(m).children()) {
    all.emplace_back(child.structure, m.values.slice(child.first, child.structure->values_shape));
  }
  return all;
}

Matrix joined(const Format& format, const std::vector<Matrix>& children) {
  std::vector<StructurePtr> structures;
  for (const Matrix& child : children) structures.push_back(child.structure);
  auto structure = std::make_shared<const Several>(format.name, std::move(structures));
  Array values = Array::empty(children.front().dtype, structure->values_shape);
  for (std::size_t i = 0; i < children.size(); ++i) {
    const int64 item = item_size(values.dtype), first = structure->children()[i].first;
    copy_bytes(values.as<char>() + first * item, children[i].values.data, children[i].values.nbytes());
  }
  return {std::move(structure), std::move(values)};
}

StructurePtr structure_of_children(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays,
                                   const std::vector<const char*>& children) {
  std::vector<StructurePtr> result;
  std::size_t used = 0;
  for (const char* child : children) {
    const std::string prefix = std::string(child) + "_";
    std::vector<Part> child_arrays;
    for (const Part& part : arrays) {
      if (part.first.starts_with(prefix)) child_arrays.emplace_back(part.first.substr(prefix.size()), part.second);
    }
    used += child_arrays.size();
    result.push_back(structure_over(child, rows, cols, std::move(child_arrays)));
  }
  if (used != arrays.size()) {
    std::string names;
    for (const Part& part : arrays) names += (names.empty() ? "" : ", ") + part.first;
    reject(format.name, "some of the arrays " + names + " belong to none of its parts");
  }
  return std::make_shared<const Several>(format.name, std::move(result));
}

void check_each_child(const Matrix& m) {
  check_values(m, m.structure->values_shape);
  for (const Matrix& child : children_of(m)) {
    try {
      check_matrix(child);
    } catch (const std::invalid_argument& error) {
      reject(m.format, "in its arrays " + child.format + "_..., " + error.what());
    }
  }
}

void check_children(const Matrix& m) {
  check_each_child(m);
  const int64 twice = m.structure->stored() - children_to_csr(m, {}).values.size();
  if (twice > 0) reject(m.format, std::to_string(twice) + " entries are stored in two parts");
}

Matrix children_to_csr(const Matrix& m, Op op) {
  const std::vector<Matrix> children = children_of(m);
  Matrix sum = convert(children.front(), op, common->name);
  for (std::size_t i = 1; i < children.size(); ++i) {
    const Matrix next = convert(children[i], op, common->name);
    sum = combine(*common, {{&sum, {}, 1.0}, {&next, {}, 1.0}}, Combine::sum, true, m.dtype);
  }
  return sum;
}

FormatKernels children_kernels() {
  return {{{"children", every_pair<EachChild, MatvecKernel>(), prepare_children}}, {}};
}

}  // namespace diagsparse
