// Validation of every matrix that Python builds from component arrays, whoever supplied them. Kernels do not check
// again.
#pragma once

#include <initializer_list>

#include "core/format.hpp"

namespace diagsparse {

// Throws std::invalid_argument unless the matrix is valid in its format: types, dimensions and sizes of all component
// arrays, indices in range and in order, and a real main diagonal for Hermitian storage.
void check_matrix(const Matrix& m);
// Checks types and sizes only, for new values on the structure of a valid matrix.
void check_values(const Matrix& m, Shape expected);
void check_main_diagonal(const Matrix& m);
// Checks a batch, which has a row of values for each member.
void check_members(const Matrix& all);

Op op_from(int bits);  // 1: transposed, 2: conjugated
Packing packing_from(int symmetry, int64 period);
void check_shape(const Format& format, int64 rows, int64 cols);  // extents are within the format's limit

// ---- For the check functions of the formats ---------------------------------------------------------
[[noreturn]] void reject(const std::string& format, const std::string& what);  // std::invalid_argument
// For error messages: "3 x 4", and "indices[7]", or "indices[3, 1]" if the array has rows of `width` elements.
std::string extents(int64 rows, int64 cols);
std::string element_name(const std::string& array, int64 at, int64 width = 0);

// Throws unless the matrix is square: `what`, such as "symmetric storage", needs that.
void check_square(const std::string& format, const std::string& what, int64 rows, int64 cols);
// Throws unless the values of a csr matrix have a symmetry that this format is to store.
void check_symmetry(const std::string& format, const Matrix& csr, Symmetry symmetry);
[[noreturn]] void reject_zeros_without_mirror_images(const std::string& format);

// Checks that the index arrays of these names have these types and sizes.
struct ExpectedPart {
  const char* name;
  DType dtype;
  Shape shape;
};
void check_parts(const Matrix& m, const std::vector<ExpectedPart>& expected);

// An error in index arrays and the position of the element.
struct Fault {
  enum Kind { none, pointers, outside, order } kind = none;
  int64 at = 0;
};
// Checks that indptr (lines + 1) does not decrease from 0 to the number of indices, and that the indices are in [0,
// extent) and ascend within each line. `order` is reported only if everything else is valid. Implemented by each
// backend.
Fault fault_in_lines(const Array& indptr, const Array& indices, int64 lines, int64 extent);
// Checks that all (row, col) are in the matrix; `order`: they are not sorted by rows.
Fault fault_in_pairs(const Array& row, const Array& col, int64 rows, int64 cols);
// Whether values[first : first + count] are real. Implemented by each backend.
bool all_real(const Array& values, int64 first, int64 count);

// Adds to `expected` an array of this name with the bases of indices of this type and shape (core/columns.hpp), if
// columns up to `cols` need them; throws if the matrix lacks bases that it needs, or has superfluous ones.
void check_bases(const Matrix& m, const char* name, DType type, Shape indices, int64 cols,
                 std::vector<ExpectedPart>& expected);

// The last element of this array, which pointers to values have to end with: their number. 0 if there is no such array;
// bounded, because the array has not been validated.
int64 last_pointer(const std::vector<Part>& arrays, const char* name);

// ---- For formats that store a column for each value, some of which are padding -------------------------------
// The structure whose values have the shape of the first array, `indices`.
StructurePtr padded_structure(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays);
// Checks types and sizes: `indices`, of this shape and any index type, with the bases that it needs if its lines are
// those of `lines`; these other arrays; and optional arrays with an int32 for each row.
void check_padded_parts(const Matrix& m, Shape shape, Shape lines, std::vector<ExpectedPart> others,
                        std::initializer_list<const char*> optional);
// Throws for a fault in the columns of stored rows, except Fault::none. `element` names the element at fault, and
// `padding` describes what the format allows apart from columns ("" if it has no padding).
void check_stored_columns(const Matrix& m, Fault fault, const std::string& element, const std::string& padding);

// ---- For compressed rows or columns --------------------------------------------------------------------------
// Throws if the arrays of compressed rows or columns are invalid, using these names for the arrays; returns whether the
// indices are in order.
bool check_lines(const std::string& who, const Array& indptr, const Array& indices, int64 lines, int64 extent,
                 const char* indptr_name = "indptr", const char* indices_name = "indices");
// The same for component arrays of these names, which also throws if the indices do not ascend in each `line`.
void check_lines(const Matrix& m, const char* indptr, const char* indices, int64 lines, int64 extent,
                 const std::string& line);

}  // namespace diagsparse
