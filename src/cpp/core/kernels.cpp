// The kernel tables: one for each format and instruction set, the best one in use.
#include <cstdlib>
#include <iterator>
#include <map>

#include "core/matrix.hpp"
#include "core/measure.hpp"

namespace diagsparse {

namespace {

constexpr const char* isa_names[] = {"portable", "avx2", "avx512"};

using Makers = std::map<std::string, std::map<int, FormatKernels (*)()>>;
Makers& makers() {
  static Makers all;
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
  std::string names;
  for (const auto& [name, typed] : table) {
    if (kernel.empty() || name == kernel) return typed;
    names += (names.empty() ? "\"" : ", \"") + name + "\"";
  }
  throw std::invalid_argument(std::string(operation) + ": no kernel \"" + kernel + "\" for " + format + " on cpu; " +
                              (names.empty() ? "there is none" : "there are " + names));
}

}  // namespace

RegisterKernels::RegisterKernels(const char* format, int isa, FormatKernels (*make)()) { makers()[format][isa] = make; }

const FormatKernels& kernels(const std::string& format) {
  static const auto tables = [] {
    std::map<std::string, FormatKernels> made;
    for (const auto& [name, by_isa] : makers()) made[name] = std::prev(by_isa.upper_bound(chosen_isa()))->second();
    return made;
  }();
  const auto found = tables.find(format);
  if (found == tables.end()) throw std::invalid_argument("no kernels for format " + format);
  return found->second;
}

namespace {

std::map<int, Reader>& readers() {
  static std::map<int, Reader> all;
  return all;
}

}  // namespace

RegisterReader::RegisterReader(int isa, Reader reader) { readers()[isa] = reader; }
Reader reader() { return std::prev(readers().upper_bound(chosen_isa()))->second; }

std::string instruction_set() { return isa_names[chosen_isa()]; }

MatvecKernel find_matvec(const Matrix& a, DType x, const std::string& kernel) {
  if (const MatvecKernel f = find_row(kernels(a.format).matvec, kernel, a.format, "matvec")(a.dtype, x)) return f;
  throw std::invalid_argument(std::string("matvec: no kernel multiplies ") + dtype_name(a.dtype) + " by " +
                              dtype_name(x));
}

const Typed<MatmulKernel>& find_matmul(const std::string& format, const std::string& kernel) {
  return find_row(kernels(format).matmul, kernel, format, "matmul");
}

}  // namespace diagsparse
