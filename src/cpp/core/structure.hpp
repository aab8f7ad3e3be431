// A matrix without its values: their positions. Immutable, and shared by all matrices with this structure.
//
//     Structure
//       Layout    diagonals that are contiguous runs     core/diagonals.hpp
//       Indices   named index arrays, below
//       Several   several matrices (children), below
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/array.hpp"
#include "core/cache.hpp"

namespace diagsparse {

using Part = std::pair<std::string, Array>;
const Array* find(const std::vector<Part>& arrays, const std::string& name);  // null if there is no such array

// Whether one of two mirror images is stored: A = A^T or A = A^H.
enum class Symmetry { none, symmetric, hermitian };

class Structure : public std::enable_shared_from_this<Structure> {
 public:
  const char* format;  // its name
  int64 rows, cols;
  Shape values_shape;  // of the value array

  Structure(const char* format, int64 rows, int64 cols, Shape values_shape = {})
      : format(format), rows(rows), cols(cols), values_shape(values_shape) {}
  Structure(const Structure&) = default;
  Structure& operator=(const Structure&) = default;
  virtual ~Structure() = default;

  virtual std::vector<Part> parts() const = 0;  // every array except the values, by name; read-only
  // The arrays among them that are on the same device as the values: work on a GPU has to be recorded for them.
  virtual const std::vector<Part>& index_arrays() const {
    static const std::vector<Part> none;
    return none;
  }
  virtual int64 nbytes() const = 0;  // of all arrays
  virtual int64 stored() const = 0;  // how many entries the matrix has
  virtual Symmetry symmetry() const { return Symmetry::none; }
  virtual bool same_as(const Structure&) const = 0;  // whether each value has the same position
  // Sets those of `values` to zero that have no position in the matrix and that no kernel writes.
  virtual void clear_padding(Array&) const {}

  // What kernels cache with the structure.
  const Cache& cache() const { return twin_ ? twin_->cache_ : cache_; }

 protected:
  // If this is the transpose of another structure with the same arrays: that structure, whose cache both use.
  std::shared_ptr<const Structure> twin_;

 private:
  Cache cache_;
};
using StructurePtr = std::shared_ptr<const Structure>;

// The structure of a format that gives positions by index arrays.
class Indices : public Structure {
 public:
  Indices(const char* format, int64 rows, int64 cols, std::vector<Part> arrays, int64 count)
      : Indices(format, rows, cols, std::move(arrays), {count, -1}, count) {}
  // The matrix has `stored` entries. Other values are padding; with a symmetry, some values stand for two entries.
  Indices(const char* format, int64 rows, int64 cols, std::vector<Part> arrays, Shape values_shape, int64 stored,
          Symmetry symmetry = Symmetry::none)
      : Structure(format, rows, cols, values_shape), arrays_(std::move(arrays)), stored_(stored), symmetry_(symmetry) {}

  const Array* find(const char* name) const;  // null if there is no such array
  const Array& at(const char* name) const;    // throws std::logic_error if there is none
  // The same values in another format with some of these arrays, possibly under other names. Both structures share
  // their cache.
  std::shared_ptr<const Indices> as(const char* format, int64 rows, int64 cols, std::vector<Part> arrays) const;
  // The transpose, with the same arrays in the format `dual`.
  std::shared_ptr<const Indices> transposed(const char* dual) const { return as(dual, cols, rows, arrays_); }

  std::vector<Part> parts() const override;
  const std::vector<Part>& index_arrays() const override { return arrays_; }
  int64 nbytes() const override;
  int64 stored() const override { return stored_; }
  Symmetry symmetry() const override { return symmetry_; }
  bool same_as(const Structure& other) const override;

 private:
  std::vector<Part> arrays_;
  int64 stored_;
  Symmetry symmetry_;
};

// Several matrices in one. Its entries are those of all children, whose values are stored one after another in one
// array.
class Several : public Structure {
 public:
  struct Child {
    StructurePtr structure;
    int64 first;  // position of its first value
  };

  Several(const char* format, std::vector<StructurePtr> children);  // one or more children, of the same shape

  const std::vector<Child>& children() const { return children_; }
  std::vector<Part> parts() const override;  // prefixed by the child's format: ell_indices
  const std::vector<Part>& index_arrays() const override { return index_arrays_; }
  int64 nbytes() const override;
  int64 stored() const override;
  bool same_as(const Structure& other) const override;
  void clear_padding(Array& values) const override;

 private:
  std::vector<Child> children_;
  std::vector<Part> index_arrays_;
};

}  // namespace diagsparse
