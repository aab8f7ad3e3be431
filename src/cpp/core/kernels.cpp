// The kernel tables: one for each format and set of kernels; the best set is used.
#include "core/format.hpp"
#include "core/kernel_table.hpp"
#include "core/registry.hpp"

namespace diagsparse {

namespace {

template <class Row>
const Row& find_row(const std::vector<Row>& table, const std::string& kernel, const std::string& format,
                    const char* operation) {
  std::string names;
  for (const Row& row : table) {
    if (kernel.empty() || row.name == kernel) return row;
    names += (names.empty() ? "\"" : ", \"") + row.name + "\"";
  }
  throw std::invalid_argument(std::string(operation) + ": no kernel \"" + kernel + "\" for " + format + " on " +
                              device_kind + "; " + (names.empty() ? "there is none" : "there are " + names));
}

}  // namespace

RegisterKernels::RegisterKernels(const char* format, int set, FormatKernels (*make)()) {
  Registry<FormatKernels>::add(format, set, make);
}

const FormatKernels& kernels(const std::string& format) {
  const FormatKernels* const table = Registry<FormatKernels>::find(format);
  if (table == nullptr) throw std::invalid_argument("no kernels for format " + format);
  return *table;
}

const MatvecRow& find_matvec(const std::string& format, const std::string& kernel) {
  return find_row(kernels(format).matvec, kernel, format, "matvec");
}

const MatmulRow& find_matmul(const std::string& format, const std::string& kernel) {
  return find_row(kernels(format).matmul, kernel, "products as " + format, "matmul");
}

const ChainRow& find_chain(const std::string& format, const std::string& kernel) {
  return find_row(kernels(format).chain, kernel, format, "chain");
}

const MatmulRow& choose_matmul(const Plan& plan, const std::string& kernel, DType a, DType b) {
  const FormatKernels& table = kernels(plan.format());
  const bool rules = kernel.empty() && table.choose_matmul;
  const std::string name = rules ? table.choose_matmul(plan, a, b) : kernel;
  const MatmulRow& row = row_that_runs(find_matmul(plan.format(), name), plan, a, b);
  check_types(row, a, b);
  return row;
}

const MatmulRow& row_that_runs(const MatmulRow& row, const Plan& plan, DType a, DType b) {
  const char* other = row.fallback ? row.fallback(plan, a, b) : nullptr;
  return other ? row_that_runs(find_matmul(plan.format(), other), plan, a, b) : row;
}

void check_types(const MatmulRow& row, DType a, DType b) {
  if (row.typed(a, product_dtype(a, b))) return;
  std::string expected;
  for (int left = 0; left < kStoredTypes; ++left) {
    for (int right = 0; right < kValueTypes; ++right) {
      if (!row.typed.at[left][right]) continue;
      expected += std::string(expected.empty() ? "" : ", ") + dtype_name(static_cast<DType>(left)) + " by " +
                  dtype_name(static_cast<DType>(right));
    }
  }
  throw std::invalid_argument("matmul: kernel \"" + row.name + "\" does not multiply " + dtype_name(a) + " by " +
                              dtype_name(b) + ", expected " + expected);
}

MatvecKernel matvec_kernel(const MatvecRow& row, DType a, DType x) {
  if (const MatvecKernel f = row.typed(a, x)) return f;
  throw std::invalid_argument(std::string("matvec: no kernel multiplies ") + dtype_name(a) + " by " + dtype_name(x));
}

ChainKernel chain_kernel(const ChainRow& row, DType a, DType x) {
  if (const ChainKernel f = row.typed(a, x)) return f;
  throw std::invalid_argument(std::string("chain: no kernel multiplies ") + dtype_name(a) + " by " + dtype_name(x));
}

}  // namespace diagsparse
