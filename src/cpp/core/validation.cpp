// Validation code that all formats share.
#include "core/validation.hpp"

#include <algorithm>

#include "core/columns.hpp"
#include "core/convert.hpp"
#include "core/kernel_table.hpp"
#include "core/summary.hpp"
#include "core/symmetry.hpp"

namespace diagsparse {

namespace {

std::string size_text(Shape s) {
  return std::to_string(s.rows) + (s.cols < 0 ? "" : " x " + std::to_string(s.cols)) + " values";
}

// "indptr[2] is 7"; "indptr[2] is missing" at the end of the array. Of integers.
std::string given_at(const std::string& name, const Array& array, int64 at) {
  const std::string subject = element_name(name, at) + " is ";
  if (at >= array.size()) return subject + "missing";
  return subject +
         std::to_string(array.dtype == DType::i32 ? element<std::int32_t>(array, at) : element<int64>(array, at));
}

const Layout* layout_of(const Matrix& m) { return dynamic_cast<const Layout*>(m.structure.get()); }

// Whether a format stores 16-bit values, which its matvec kernel then reads.
bool stores_narrow(const std::string& format) {
  return find_matvec(format, "").typed(DType::f16, DType::f32) != nullptr;
}

void check_value_type(const Matrix& m) {
  const int type = static_cast<int>(m.dtype);
  if (type < kValueTypes) return;
  const bool narrow = stores_narrow(m.format);
  if (narrow && type < kStoredTypes) return;
  reject(m.format, std::string("values are of type ") + dtype_name(m.dtype) +
                       ", expected float32, float64, complex64 or complex128" +
                       (narrow ? ", or float16 and bfloat16" : ""));
}

}  // namespace

void reject(const std::string& format, const std::string& what) {
  throw std::invalid_argument(format + "_array: " + what);
}

std::string extents(int64 rows, int64 cols) { return std::to_string(rows) + " x " + std::to_string(cols); }

std::string element_name(const std::string& array, int64 at, int64 width) {
  if (width == 0) return array + "[" + std::to_string(at) + "]";
  return array + "[" + std::to_string(at / width) + ", " + std::to_string(at % width) + "]";
}

void check_square(const std::string& format, const std::string& what, int64 rows, int64 cols) {
  if (rows != cols) reject(format, what + " is for square matrices, got " + extents(rows, cols));
}

void check_symmetry(const std::string& format, const Matrix& csr, Symmetry symmetry) {
  const bool hermitian = symmetry == Symmetry::hermitian;
  check_square(format, hermitian ? "hermitian storage" : "symmetric storage", csr.rows, csr.cols);
  if (symmetries(csr) & (hermitian ? kHermitian : kSymmetric)) return;
  reject(format, std::string("the values are not ") + (hermitian ? "Hermitian" : "symmetric"));
}

void reject_zeros_without_mirror_images(const std::string& format) {
  reject(format, "some zeros are stored whose mirror images are not; drop them with eliminate_zeros()");
}

void check_main_diagonal(const Matrix& m) {
  if (m.structure->symmetry() != Symmetry::hermitian || !has_complex_values(m.dtype)) return;
  const Format& format = format_of(m.format);
  if (format.real_diagonal == nullptr || format.real_diagonal(m)) return;
  reject(m.format, "the main diagonal holds complex values; that of a Hermitian matrix is real");
}

Op op_from(int bits) {
  if (bits < 0 || bits > 3) throw std::invalid_argument("op is " + std::to_string(bits) + ", expected 0 to 3");
  return {(bits & 1) != 0, (bits & 2) != 0};
}

Packing packing_from(int symmetry, int64 period) {
  if (symmetry < 0 || symmetry > 2) {
    throw std::invalid_argument("symmetry is " + std::to_string(symmetry) + ", expected 0 to 2");
  }
  if (period < 0 || period >= int64{1} << 31) {
    throw std::invalid_argument("period is " + std::to_string(period) + ", expected 0 to 2^31 - 1 rows");
  }
  return {static_cast<Symmetry>(symmetry), period};
}

void check_shape(const Format& format, int64 rows, int64 cols) {
  if (rows < 0 || cols < 0 || rows >= kAnyExtent || cols >= kAnyExtent) {
    reject(format.name,
           "shape (" + std::to_string(rows) + ", " + std::to_string(cols) + "): expected extents from 0, below 2^62");
  }
  if (rows < format.extent && cols < format.extent) return;
  reject(format.name, extents(rows, cols) + ": indices are 32 bits wide, so extents stay below 2^31");
}

void check_parts(const Matrix& m, const std::vector<ExpectedPart>& expected) {
  if (m.structure->parts().size() != expected.size())
    throw std::logic_error(m.format + "_array: wrong number of arrays");
  const auto describe = [](DType dtype, Shape shape) { return size_text(shape) + " of type " + dtype_name(dtype); };
  for (const ExpectedPart& e : expected) {
    const Array& given = m.index(e.name);
    if (given.dtype != e.dtype || given.shape != e.shape) {
      reject(m.format, std::string(e.name) + " holds " + describe(given.dtype, given.shape) + ", expected " +
                           describe(e.dtype, e.shape));
    }
    if (given.device != m.values.device) reject(m.format, "parts on different devices");
  }
}

void check_bases(const Matrix& m, const char* name, DType type, Shape indices, int64 cols,
                 std::vector<ExpectedPart>& expected) {
  const bool given = static_cast<const Indices&>(*m.structure).find(name), needed = has_bases(type, cols);
  if (given == needed || (type == DType::i32 && !given)) {
    if (given) expected.push_back({name, DType::i32, ColumnArrays::bases_for(indices)});
    return;
  }
  reject(m.format, std::string(name) + (needed ? " is missing: " : " is given, but ") + dtype_name(type) +
                       (needed ? " does not hold" : " holds") + " the columns 0 to " + std::to_string(cols - 1));
}

int64 last_pointer(const std::vector<Part>& arrays, const char* name) {
  const Array* const pointers = find(arrays, name);
  if (pointers == nullptr || pointers->dtype != DType::i64 || pointers->size() == 0) return 0;
  return std::clamp<int64>(element<int64>(*pointers, pointers->size() - 1), 0,
                           kAnyExtent / 2);  // callers may double it
}

StructurePtr padded_structure(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  const Shape shape = arrays.empty() ? Shape{} : arrays.front().second.shape;
  const bool readable = !arrays.empty() && is_index_type(arrays.front().second.dtype);  // others are rejected later
  const int64 stored = readable ? count_unpadded(arrays.front().second) : 0;
  return std::make_shared<const Indices>(format.name, rows, cols, std::move(arrays), shape, stored);
}

void check_padded_parts(const Matrix& m, Shape shape, Shape lines, std::vector<ExpectedPart> others,
                        std::initializer_list<const char*> optional) {
  const auto& parts = static_cast<const Indices&>(*m.structure);
  const DType given = parts.at("indices").dtype, type = is_index_type(given) ? given : DType::i32;
  others.insert(others.begin(), {"indices", type, shape});
  for (const char* name : optional) {
    if (parts.find(name)) others.push_back({name, DType::i32, {m.rows}});
  }
  check_bases(m, "bases", type, lines, m.cols, others);
  check_parts(m, others);
}

bool check_lines(const std::string& who, const Array& indptr, const Array& indices, int64 lines, int64 extent,
                 const char* indptr_name, const char* indices_name) {
  const Fault fault = fault_in_lines(indptr, indices, lines, extent);
  if (fault.kind == Fault::pointers) {
    throw std::invalid_argument(who + ": " + given_at(indptr_name, indptr, fault.at) + "; expected " +
                                std::to_string(lines + 1) + " integers that rise from 0 to " +
                                std::to_string(indices.size()));
  }
  if (fault.kind == Fault::outside) {
    throw std::invalid_argument(who + ": " + given_at(indices_name, indices, fault.at) + ", expected 0 to " +
                                std::to_string(extent - 1));
  }
  return fault.kind == Fault::none;
}

void check_lines(const Matrix& m, const char* indptr, const char* indices, int64 lines, int64 extent,
                 const std::string& line) {
  if (check_lines(m.format + "_array", m.index(indptr), m.index(indices), lines, extent, indptr, indices)) return;
  const bool plural = std::string(indices).ends_with("indices");
  reject(m.format, std::string(indices) + (plural ? " do" : " does") + " not rise in each " + line);
}

void check_stored_columns(const Matrix& m, Fault fault, const std::string& element, const std::string& padding) {
  switch (fault.kind) {
    case Fault::none: return;
    case Fault::pointers:
      reject(m.format, element_name("row_lengths", fault.at) + " is not the count of the row's entries");
    case Fault::outside:
      reject(m.format, element + " lies outside, expected 0 to " + std::to_string(m.cols - 1) + padding);
    case Fault::order:
      reject(m.format, element + " does not come after the one before it in its row" +
                           (padding.empty() ? "" : " (padding comes last)"));
  }
}

void check_sorted_entries(const Matrix& m) {
  const EntryFormat& format = entry_format(m.format);
  const int64 count = m.values.size();
  if (format.pointers) {
    const int64 lines = format.by_column ? m.cols : m.rows, extent = format.by_column ? m.rows : m.cols;
    check_parts(m, {{"indices", DType::i32, {count}}, {"indptr", DType::i64, {lines + 1}}});
    return check_lines(m, "indptr", "indices", lines, extent, format.by_column ? "column" : "row");
  }
  check_parts(m, {{"row", DType::i32, {count}}, {"col", DType::i32, {count}}});
  const Fault fault = fault_in_pairs(m.index("row"), m.index("col"), m.rows, m.cols);
  if (fault.kind == Fault::none) return;
  const std::string entry = "entry " + std::to_string(fault.at);
  if (fault.kind == Fault::order) reject(m.format, entry + " does not come after the one before it");
  reject(m.format, entry + ", at (" + std::to_string(element<std::int32_t>(m.index("row"), fault.at)) + ", " +
                       std::to_string(element<std::int32_t>(m.index("col"), fault.at)) + "), does not lie in a " +
                       extents(m.rows, m.cols) + " matrix");
}

void check_values(const Matrix& m, Shape expected) {
  check_value_type(m);
  if (m.values.shape.rows != expected.rows || m.values.shape.cols != expected.cols) {
    const Layout* layout = layout_of(m);
    const std::string of = layout ? std::to_string(layout->labels.size()) + " " + layout->labels_name + " of a "
                                  : "the structure of this ";
    reject(m.format, "values hold " + size_text(m.values.shape) + ", but " + of + extents(m.rows, m.cols) +
                         " matrix need" + (layout ? " " : "s ") + size_text(expected));
  }
}

void check_members(const Matrix& all) {
  check_value_type(all);
  const Layout* layout = layout_of(all);
  const int64 size = layout ? layout->values_shape.size() : 0;
  if (!layout || layout->packing || all.values.shape.cols != size) {
    throw std::invalid_argument("batch_array: got " + size_text(all.values.shape) + ", expected a row of " +
                                std::to_string(size) + " for each member");
  }
}

void check_matrix(const Matrix& m) {
  const Format& format = format_of(m.format);
  check_shape(format, m.rows, m.cols);
  format.check(m);
  check_values(m, m.structure->values_shape);
  check_main_diagonal(m);
}

}  // namespace diagsparse
