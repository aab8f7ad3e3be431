// Structures of index arrays, and of several matrices.
#include "core/structure.hpp"

#include <cstring>
#include <stdexcept>

namespace diagsparse {

const Array* find(const std::vector<Part>& arrays, const std::string& name) {
  for (const Part& part : arrays) {
    if (part.first == name) return &part.second;
  }
  return nullptr;
}

const Array* Indices::find(const char* name) const { return diagsparse::find(arrays_, name); }

const Array& Indices::at(const char* name) const {
  if (const Array* array = find(name)) return *array;
  throw std::logic_error(std::string(format) + " has no array " + name);
}

std::shared_ptr<const Indices> Indices::as(const char* format, int64 rows, int64 cols, std::vector<Part> arrays) const {
  auto result = std::make_shared<Indices>(format, rows, cols, std::move(arrays), values_shape, stored_);
  result->twin_ = twin_ ? twin_ : shared_from_this();
  return result;
}

std::vector<Part> Indices::parts() const {
  std::vector<Part> all = arrays_;
  for (Part& part : all) part.second.writeable = false;  // other matrices may share it, and kernels rely on it
  return all;
}

int64 Indices::nbytes() const {
  int64 n = 0;
  for (const Part& part : arrays_) n += part.second.nbytes();
  return n;
}

bool Indices::same_as(const Structure& other) const {
  if (this == &other) return true;
  const auto* given = dynamic_cast<const Indices*>(&other);
  if (given == nullptr || std::strcmp(format, given->format) != 0 || rows != given->rows || cols != given->cols ||
      symmetry_ != given->symmetry_ || arrays_.size() != given->arrays_.size()) {
    return false;
  }
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const Array &a = arrays_[i].second, &b = given->arrays_[i].second;
    if (arrays_[i].first != given->arrays_[i].first || a.shape != b.shape ||
        (a.data != b.data && !same_bytes(a.data, b.data, a.nbytes())))
      return false;
  }
  return true;
}

Several::Several(const char* format, std::vector<StructurePtr> children)
    : Structure(format, children.front()->rows, children.front()->cols) {
  int64 first = 0;
  for (StructurePtr& child : children) {
    for (const Part& part : child->index_arrays()) index_arrays_.push_back(part);
    const int64 size = child->values_shape.size();
    children_.push_back({std::move(child), first});
    if (__builtin_add_overflow(first, size, &first)) throw std::length_error("too many values for 63 bits");
  }
  values_shape = {first};
}

std::vector<Part> Several::parts() const {
  std::vector<Part> all;
  for (const Child& child : children_) {
    for (Part& part : child.structure->parts()) {
      all.emplace_back(std::string(child.structure->format) + "_" + part.first, std::move(part.second));
    }
  }
  return all;
}

int64 Several::nbytes() const {
  int64 n = 0;
  for (const Child& child : children_) n += child.structure->nbytes();
  return n;
}

int64 Several::stored() const {
  int64 n = 0;
  for (const Child& child : children_) n += child.structure->stored();
  return n;
}

bool Several::same_as(const Structure& other) const {
  if (this == &other) return true;
  const auto* given = dynamic_cast<const Several*>(&other);
  if (given == nullptr || std::strcmp(format, given->format) != 0) return false;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (!children_[i].structure->same_as(*given->children_[i].structure)) return false;
  }
  return true;
}

void Several::clear_padding(Array& values) const {
  for (const Child& child : children_) {
    Array slice = values.slice(child.first, child.structure->values_shape);
    child.structure->clear_padding(slice);
  }
}

}  // namespace diagsparse
