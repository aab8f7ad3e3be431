// Validation code that all formats share.
#include "core/validation.hpp"

#include <limits>

#include "core/columns.hpp"
#include "core/kernel_table.hpp"

namespace diagsparse {

namespace {

std::string who(const std::string& format) { return format + "_array: "; }

std::string size_text(Shape s) {
  return std::to_string(s.rows) + (s.cols < 0 ? "" : " x " + std::to_string(s.cols)) + " values";
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
  throw std::invalid_argument(who(m.format) + "values are of type " + dtype_name(m.dtype) +
                              ", expected float32, float64, complex64 or complex128" +
                              (narrow ? ", or float16 and bfloat16" : ""));
}

}  // namespace

void check_main_diagonal(const Matrix& m) {
  if (m.structure->symmetry() != Symmetry::hermitian || !has_complex_values(m.dtype)) return;
  const Format& format = format_of(m.format);
  if (format.real_diagonal == nullptr || format.real_diagonal(m)) return;
  throw std::invalid_argument(who(m.format) +
                              "the main diagonal holds complex values; that of a Hermitian matrix is real");
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

void check_shape(const char* format, int64 rows, int64 cols) {
  if (rows >= 0 && cols >= 0 && rows < int64{1} << 62 && cols < int64{1} << 62) return;
  throw std::invalid_argument(who(format) + "shape (" + std::to_string(rows) + ", " + std::to_string(cols) +
                              "): expected extents from 0, below 2^62");
}

void check_shape(const Format& format, int64 rows, int64 cols) {
  check_shape(format.name, rows, cols);
  if (rows < format.extent && cols < format.extent) return;
  throw std::invalid_argument(who(format.name) + std::to_string(rows) + " x " + std::to_string(cols) +
                              ": indices are 32 bits wide, so extents stay below 2^31");
}

void check_parts(const Matrix& m, const std::vector<ExpectedPart>& expected) {
  if (m.structure->parts().size() != expected.size()) throw std::logic_error(who(m.format) + "wrong number of arrays");
  const auto describe = [](DType dtype, Shape shape) { return size_text(shape) + " of type " + dtype_name(dtype); };
  for (const ExpectedPart& e : expected) {
    const Array& given = m.index(e.name);
    if (given.dtype != e.dtype || given.shape != e.shape) {
      throw std::invalid_argument(who(m.format) + e.name + " holds " + describe(given.dtype, given.shape) +
                                  ", expected " + describe(e.dtype, e.shape));
    }
    if (given.device != m.values.device) throw std::invalid_argument(who(m.format) + "parts on different devices");
  }
}

void check_bases(const Matrix& m, const char* name, DType type, Shape indices, int64 cols,
                 std::vector<ExpectedPart>& expected) {
  const bool given = static_cast<const Indices&>(*m.structure).find(name), needed = has_bases(type, cols);
  if (given == needed || (type == DType::i32 && !given)) {
    if (given) expected.push_back({name, DType::i32, ColumnArrays::bases_for(indices)});
    return;
  }
  throw std::invalid_argument(who(m.format) + name + (needed ? " is missing: " : " is given, but ") + dtype_name(type) +
                              (needed ? " does not hold" : " holds") + " the columns 0 to " + std::to_string(cols - 1));
}

bool check_lines(const std::string& who, const Array& indptr, const Array& indices, int64 lines, int64 extent,
                 const char* indptr_name, const char* indices_name) {
  const Fault fault = fault_in_lines(indptr, indices, lines, extent);
  if (fault.kind == Fault::pointers) {
    throw std::invalid_argument(who + ": " + indptr_name + "[" + std::to_string(fault.at) + "] is wrong; expected " +
                                std::to_string(lines + 1) + " integers that rise from 0 to " +
                                std::to_string(indices.size()));
  }
  if (fault.kind == Fault::outside) {
    throw std::invalid_argument(who + ": " + indices_name + "[" + std::to_string(fault.at) +
                                "] lies outside, expected 0 to " + std::to_string(extent - 1));
  }
  return fault.kind == Fault::none;
}

void check_values(const Matrix& m, Shape expected) {
  check_value_type(m);
  if (m.values.shape.rows != expected.rows || m.values.shape.cols != expected.cols) {
    const Layout* layout = layout_of(m);
    const std::string of = layout ? std::to_string(layout->labels.size()) + " " + layout->labels_name + " of a "
                                  : "the structure of this ";
    throw std::invalid_argument(who(m.format) + "values hold " + size_text(m.values.shape) + ", but " + of +
                                std::to_string(m.rows) + " x " + std::to_string(m.cols) + " matrix need" +
                                (layout ? " " : "s ") + size_text(expected));
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
  check_shape(format.name, m.rows, m.cols);
  format.check(m);
  check_values(m, m.structure->values_shape);
  check_main_diagonal(m);
}

}  // namespace diagsparse
