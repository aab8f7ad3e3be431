// Formats by name, and conversions between them.
#include "core/format.hpp"

#include "core/convert.hpp"
#include "core/validation.hpp"

namespace diagsparse {

const Family diagonal_family{convert_diagonals}, entry_family{convert_entries};

namespace {

[[noreturn]] void refuse(const Matrix& a, const std::string& format, const char* what) {
  reject(a.format, "no conversion to " + format + ": " + what);
}

}  // namespace

const Format& format_of(const std::string& name) {
  for (const Format* f : formats) {
    if (name == f->name) return *f;
  }
  std::string names;
  for (const Format* f : formats) names += std::string(names.empty() ? "" : ", ") + f->name;
  throw std::invalid_argument("no format " + name + "; there are " + names);
}

const DiagonalFormat& diagonal_format(const std::string& name) {
  const Format& f = format_of(name);
  if (f.family == &diagonal_family) return static_cast<const DiagonalFormat&>(f);
  throw std::invalid_argument("format " + name + " does not store diagonals");
}

const EntryFormat& entry_format(const std::string& name) {
  const Format& f = format_of(name);
  if (f.family == &entry_family) return static_cast<const EntryFormat&>(f);
  throw std::invalid_argument("format " + name + " does not store sorted entries");
}

Matrix zeros_on(const DiagonalFormat& format, int64 rows, int64 cols, const std::vector<int64>& offsets, DType dtype) {
  auto layout = std::make_shared<const Layout>(format.place(rows, cols, format.labels_for(rows, cols, offsets)));
  Array values = Array::zeros(dtype, layout->values_shape);
  return {std::move(layout), std::move(values)};
}

Matrix convert(const Matrix& a, Op op, const std::string& format, const Options& options) {
  const Format &source = format_of(a.format), &target = format_of(format);
  if (&source == &target && !op.transposed && !op.conjugated && options.empty()) return a;
  if (source.family && source.family == target.family) return source.family->convert_within(a, op, target);
  const bool to_entries = target.family == common->family;
  if (!to_entries && !target.from_csr) refuse(a, target.name, "csr cannot be converted to it");
  if (&target == common) {
    if (!source.to_csr) refuse(a, target.name, "this format cannot be converted to csr");
    return source.to_csr(a, op);
  }
  const Matrix csr = convert(a, op, common->name);
  return to_entries ? convert(csr, {}, format) : target.from_csr(csr, target, options);
}

StructurePtr structure_over(const std::string& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  const Format& result = format_of(format);
  return result.structure(result, rows, cols, std::move(arrays));
}

StructurePtr value_for_each(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  const int64 count = arrays.empty() ? 0 : arrays.front().second.size();
  return std::make_shared<const Indices>(format.name, rows, cols, std::move(arrays), count);
}

}  // namespace diagsparse
