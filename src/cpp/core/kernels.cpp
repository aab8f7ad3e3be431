// The kernel tables: one for each format and instruction set, the best one in use.
#include <cstdlib>
#include <map>

#include "core/matrix.hpp"
#include "core/measure.hpp"

namespace diagsparse {

namespace {

constexpr const char* isa_names[] = {"portable", "avx2", "avx512"};

using Tables = std::map<std::string, std::map<int, FormatKernels>>;
Tables& tables() {
  static Tables all;
  return all;
}

int best_isa() {
  int best = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = 1;
  if (best == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    best = 2;
  }
#endif
  if (const char* wanted = std::getenv("DIAGSPARSE_ISA")) {
    for (int i = 0; i <= best; ++i) {
      if (std::string(wanted) == isa_names[i]) return i;
    }
  }
  return best;
}

int chosen_isa() {
  static const int isa = best_isa();
  return isa;
}

template <class Function>
const Typed<Function>& find_row(const KernelTable<Function>& table, const std::string& kernel,
                                const std::string& format, const char* operation) {
  if (!table.empty() && kernel.empty()) return table.front().second;
  std::string names;
  for (const auto& [name, typed] : table) {
    if (name == kernel) return typed;
    names += (names.empty() ? "\"" : ", \"") + name + "\"";
  }
  if (table.empty()) throw std::invalid_argument(std::string(operation) + ": " + format + " has no kernel on cpu");
  throw std::invalid_argument(std::string(operation) + ": no kernel \"" + kernel + "\" for " + format +
                              " on cpu; there are " + names);
}

}  // namespace

RegisterKernels::RegisterKernels(const char* format, int isa, FormatKernels kernels) {
  tables()[format][isa] = std::move(kernels);
}

const FormatKernels& kernels(const std::string& format) {
  const auto found = tables().find(format);
  if (found == tables().end()) throw std::invalid_argument("no kernels for format " + format);
  auto best = found->second.upper_bound(chosen_isa());
  return (--best)->second;
}

namespace {

std::map<int, Reader>& readers() {
  static std::map<int, Reader> all;
  return all;
}

}  // namespace

RegisterReader::RegisterReader(int isa, Reader reader) { readers()[isa] = reader; }
Reader reader() {
  auto best = readers().upper_bound(chosen_isa());
  return (--best)->second;
}

std::string instruction_set() { return isa_names[chosen_isa()]; }

MatvecKernel find_matvec(const Matrix& a, DType x, const std::string& kernel) {
  return find_row(kernels(a.format).matvec, kernel, a.format, "matvec")(a.dtype, x);
}

MatmulKernel find_matmul(const std::string& format, DType a, DType b, const std::string& kernel) {
  return find_row(kernels(format).matmul, kernel, format, "matmul")(a, b);
}

}  // namespace diagsparse
