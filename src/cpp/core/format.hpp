// What a format provides apart from its kernels: a table of everything that it supports. An optional field that a
// format does not support is null; callers then get an error that lists what exists.
#pragma once

#include <map>
#include <span>
#include <variant>

#include "core/elementwise.hpp"
#include "core/plan.hpp"

namespace diagsparse {

constexpr int64 kAnyExtent = int64{1} << 62, kIndexExtent = int64{1} << 31;  // indices have 32 bits

// Options of a format by name, each a number or a list of numbers. Missing options are determined from the matrix.
using Options = std::map<std::string, std::variant<int64, std::vector<int64>>>;
inline int64 option(const Options& options, const char* name) { return std::get<int64>(options.at(name)); }
inline int64 option(const Options& options, const char* name, int64 otherwise) {
  return options.count(name) ? option(options, name) : otherwise;
}
inline const std::vector<int64>& listed(const Options& options, const char* name) {
  return std::get<std::vector<int64>>(options.at(name));
}

// Formats whose arrays are read in the same way, so that conversions among them do not go through csr.
struct Family {
  Matrix (*convert_within)(const Matrix& a, Op op, const Format& format);
};
extern const Family diagonal_family;  // contiguous runs: DiagonalFormat
extern const Family entry_family;     // sorted entries: EntryFormat

// A field that every format has to set; omitting it is a compile error.
template <class F>
class Mandatory {
 public:
  constexpr Mandatory(F value) : value_(value) {}
  Mandatory(std::nullptr_t) = delete;
  constexpr operator F() const { return value_; }

 private:
  F value_;
};

struct Format {
  const char* name;
  const Family* family = nullptr;  // null: converts through csr only
  Mandatory<int64> extent;         // upper bound (exclusive) on rows and columns
  // Builds the structure from these arrays, before they are validated.
  Mandatory<StructurePtr (*)(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays)> structure;
  // Throws std::invalid_argument unless the component arrays are valid. The shape of the matrix and the size of its
  // values are checked for all formats.
  Mandatory<void (*)(const Matrix& m)> check;
  // Whether the main diagonal is real, as Hermitian storage requires. Null if the format does not need it.
  bool (*real_diagonal)(const Matrix& m) = nullptr;
  // Plans a product of two matrices of this format (diagonals: of this family) into this format: sets the structure of
  // C and the work of the plan. If null, both are multiplied as csr.
  void (*plan)(Plan& plan, const Matrix& a, const Matrix& b, const Request& request) = nullptr;
  bool halves = false;  // whether its plans can compute one triangle of C only
  // Combines terms of this family elementwise. If null, they are combined as another format.
  Matrix (*combine)(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                    DType dtype) = nullptr;
  // Conversions from and to csr, on the device of the matrix. Null for the family of csr.
  Matrix (*from_csr)(const Matrix& csr, const Format& format, const Options& options) = nullptr;
  Matrix (*to_csr)(const Matrix& a, Op op) = nullptr;
  const char* dual = nullptr;  // the format that represents the transpose by the same arrays
};
// All formats, as listed in formats/all.cpp.
extern const std::span<const Format* const> formats;
const Format& format_of(const std::string& name);  // std::invalid_argument lists the existing names
extern const Format* const common;                 // csr, which every other format converts to and from
inline const Format& multiplied_as(const Format& format) { return format.plan ? format : *common; }

// A diagonal format: how it labels its diagonals and where each one starts.
struct DiagonalFormat : Format {
  const char* labels_name;  // "offsets" or "rows"
  // The labels under which `offsets` (ascending, distinct) are stored.
  std::vector<int64> (*labels_for)(int64 rows, int64 cols, const std::vector<int64>& offsets);
  // Checks the labels and places their diagonals in this order.
  Layout (*place)(int64 rows, int64 cols, std::vector<int64> labels);
};
const DiagonalFormat& diagonal_format(const std::string& name);

// A format of sorted entries: their order, and how the row and column of each entry are stored.
struct EntryFormat : Format {
  bool by_column;
  bool pointers;  // a pointer to the start of each line, and one index array; else row and column of each entry
};
const EntryFormat& entry_format(const std::string& name);

// A matrix of zeros that stores these diagonals (ascending).
Matrix zeros_on(const DiagonalFormat& format, int64 rows, int64 cols, const std::vector<int64>& offsets, DType dtype);

// op(a) in another format, or `a` itself if nothing changes.
Matrix convert(const Matrix& a, Op op, const std::string& format, const Options& options = {});

// The structure of a format from these arrays; std::invalid_argument if the format does not consist of arrays.
StructurePtr structure_over(const std::string& format, int64 rows, int64 cols, std::vector<Part> arrays);
// The `structure` function of formats with one value for each element of their first array.
StructurePtr value_for_each(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays);

}  // namespace diagsparse
