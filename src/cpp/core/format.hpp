// What a format is, beside its kernels: the table of all that it can do. A line of it that is missing is null, and who
// asks for it hears what there is.
#pragma once

#include <map>
#include <span>
#include <variant>

#include "core/elementwise.hpp"
#include "core/plan.hpp"

namespace diagsparse {

constexpr int64 kAnyExtent = int64{1} << 62, kIndexExtent = int64{1} << 31;  // indices of 32 bits

// What a format leaves to the one who asks for it, by name; those that are missing follow from the matrix.
// A number each, or a list of them.
using Options = std::map<std::string, std::variant<int64, std::vector<int64>>>;
inline int64 option(const Options& options, const char* name) { return std::get<int64>(options.at(name)); }
inline int64 option(const Options& options, const char* name, int64 otherwise) {
  return options.count(name) ? option(options, name) : otherwise;
}
inline const std::vector<int64>& listed(const Options& options, const char* name) {
  return std::get<std::vector<int64>>(options.at(name));
}

// Formats whose arrays are read alike, so that conversions among them need no csr.
struct Family {
  Matrix (*across)(const Matrix& a, Op op, const Format& format);
};
extern const Family diagonal_family;  // contiguous runs: DiagonalFormat
extern const Family entry_family;     // sorted one by one: EntryFormat

// A field that every format has to fill in: leaving it out does not compile.
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
  const Family* family = nullptr;  // none: it stands alone
  Mandatory<int64> extent;         // rows and columns stay below
  // The structure over these arrays, which `check` has yet to see.
  Mandatory<StructurePtr (*)(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays)> structure;
  // std::invalid_argument unless the parts are what the format says; sizes of values are checked for all alike.
  Mandatory<void (*)(const Matrix& m)> check;
  // Whether the main diagonal is real: that of Hermitian storage has to be. Null where nobody needs to know.
  bool (*real_diagonal)(const Matrix& m) = nullptr;
  // Plans a product into this format of two matrices of its family; else both are multiplied as another format.
  Plan (*plan)(const Format& format, const Matrix& a, Op op_a, const Matrix& b, Op op_b,
               const Request& request) = nullptr;
  const char* multiplies_as;  // itself where it has a plan
  bool halves = false;        // whether its plans make one half of C
  // Combines terms of its family, element by element; else they are combined as another format.
  Matrix (*combine)(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                    DType dtype) = nullptr;
  // From csr and to it, on the device of the matrix.
  Matrix (*from_csr)(const Matrix& csr, const Format& format, const Options& options) = nullptr;
  Matrix (*to_csr)(const Matrix& a, Op op) = nullptr;
  const char* dual = nullptr;  // the format in which the same arrays hold the transpose
};
// All of them; formats/all.cpp lists them.
extern const std::span<const Format* const> formats;
const Format& format_of(const std::string& name);  // std::invalid_argument lists those that there are
extern const Format* const common;                 // csr: what every other format converts to and from

// A format of the diagonal family: how it names its diagonals and where each one starts.
struct DiagonalFormat : Format {
  const char* labels_name;  // "offsets" or "rows"
  // The labels under which `offsets` (ascending, distinct) are stored.
  std::vector<int64> (*labels_for)(int64 rows, int64 cols, const std::vector<int64>& offsets);
  // Places the diagonals of `labels`, in that order; checks them.
  Layout (*place)(int64 rows, int64 cols, std::vector<int64> labels);
};
const DiagonalFormat& diagonal_format(const std::string& name);

// A format of sorted entries: in which order they lie, and how it names the line (row or column) of each.
struct EntryFormat : Format {
  bool by_column;
  bool pointers;  // where each line begins, with the indices in it; else row and column of each entry
};
const EntryFormat& entry_format(const std::string& name);

// A matrix of zeros that stores these diagonals (ascending).
Matrix zeros_on(const DiagonalFormat& format, int64 rows, int64 cols, const std::vector<int64>& offsets, DType dtype);

// op(a) in another format; `a` itself where nothing has to be done.
Matrix convert(const Matrix& a, Op op, const std::string& format, const Options& options = {});

// The structure of a format over these arrays; std::invalid_argument where it is not made of arrays.
StructurePtr structure_over(const std::string& format, int64 rows, int64 cols, std::vector<Part> arrays);
// The `structure` of formats that store a value for each element of their first array.
StructurePtr value_for_each(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays);

}  // namespace diagsparse
