// What a matrix is beside its values: where they belong. Immutable, and shared by all matrices on it.
//
//     Structure
//       Layout    diagonals that are contiguous runs     core/diagonals.hpp
//       Indices   named index arrays, below
//       Several   several matrices in one, below
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/array.hpp"
#include "core/cache.hpp"

namespace diagsparse {

using Part = std::pair<std::string, Array>;

// Whether of two mirror images one is stored: A = A^T, or A = A^H.
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

  virtual std::vector<Part> parts() const = 0;  // every array but the values, by name; nobody may write to them
  // Those of them that lie where the values do: on a GPU what work there has to be noted of.
  virtual const std::vector<Part>& index_arrays() const {
    static const std::vector<Part> none;
    return none;
  }
  virtual int64 nbytes() const = 0;  // of all parts
  virtual int64 stored() const = 0;  // how many entries the matrix has
  virtual Symmetry symmetry() const { return Symmetry::none; }
  virtual bool same_as(const Structure&) const = 0;  // whether each value belongs to the same place
  // Zeroes those of `values` that lie in no place of the matrix, and that no kernel writes.
  virtual void clear_padding(Array&) const {}

  // What kernels keep with it.
  const Cache& cache() const { return twin_ ? twin_->own_ : own_; }

 protected:
  // The structure of the transpose on the same arrays, if this one was made from it: they share what is kept.
  std::shared_ptr<const Structure> twin_;

 private:
  Cache own_;
};
using StructurePtr = std::shared_ptr<const Structure>;

// The structure of a format that names its places by index arrays.
class Indices : public Structure {
 public:
  Indices(const char* format, int64 rows, int64 cols, std::vector<Part> arrays, int64 count)
      : Indices(format, rows, cols, std::move(arrays), {count, -1}, count) {}
  // The matrix has `stored` entries; other values are padding, and with a symmetry some stand for two.
  Indices(const char* format, int64 rows, int64 cols, std::vector<Part> arrays, Shape values_shape, int64 stored,
          Symmetry symmetry = Symmetry::none)
      : Structure(format, rows, cols, values_shape), arrays_(std::move(arrays)), stored_(stored), symmetry_(symmetry) {}

  const Array* find(const char* name) const;  // null where there is no such array
  const Array& at(const char* name) const;    // std::logic_error there
  // A value each, in another format over some of these arrays, which may have other names there: both share what is
  // kept.
  std::shared_ptr<const Indices> as(const char* format, int64 rows, int64 cols, std::vector<Part> arrays) const;
  // The same arrays as the transpose in the format `dual`.
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

// Several matrices in one: its entries are those of all children, whose values lie one after another in one array.
class Several : public Structure {
 public:
  struct Child {
    StructurePtr structure;
    int64 first;  // where its values begin
  };

  Several(const char* format, std::vector<StructurePtr> children);  // one or more, all of one shape

  const std::vector<Child>& children() const { return children_; }
  std::vector<Part> parts() const override;  // a child's under its format's name: ell_indices
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
