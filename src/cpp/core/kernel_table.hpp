// The kernel tables. A row is a named kernel, with a function for every pair of value types; the first row is the
// default.
#pragma once

#include <string>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/array.hpp"

namespace diagsparse {

struct Matrix;
struct Plan;
struct Recurrence;

// y = alpha op(A) x + beta y, for a vector or a dense block.
using MatvecKernel = void (*)(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y);

// C = alpha op(A) op(B) + beta C, with C's structure fixed by a plan.
using MatmulKernel = void (*)(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c);

// y = the sum of a recurrence in op(A) that starts with x; x and y have the same type.
using ChainKernel = void (*)(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y);

// A kernel's function for each pair of value types, nullptr for unsupported pairs.
template <class Function>
struct Typed {
  Function at[kStoredTypes][kValueTypes] = {};

  Function operator()(DType a, DType b) const {
    const int left = static_cast<int>(a), right = static_cast<int>(b);
    return left < kStoredTypes && right < kValueTypes ? at[left][right] : nullptr;
  }
};

struct MatvecRow {
  std::string name;
  Typed<MatvecKernel> typed;
  void (*prepare)(const Matrix& a, Op op) = nullptr;  // computes what the kernel caches with A, before its first call
};
struct MatmulStage {
  const char* name;
  Typed<MatmulKernel> typed;
};
struct MatmulRow {
  std::string name;
  Typed<MatmulKernel> typed;
  void (*prepare)(const Plan& plan) = nullptr;  // computes what the kernel caches with the plan
  std::vector<MatmulStage> more = {};           // stages that continue with what `typed` left in C
  const char* first = "multiply";               // name of the first stage
  bool both_orders = false;                     // it can run plans of A B + B A and A B - B A
  // The name of the row to use if this one cannot multiply values of these types by a plan, else nullptr. (Rows with
  // more stages have no fallback.)
  const char* (*fallback)(const Plan& plan, DType a, DType b) = nullptr;
};

struct ChainRow {
  std::string name;
  Typed<ChainKernel> typed;
};
ChainRow chain_steps();  // "steps", which every format has

struct FormatKernels {
  std::vector<MatvecRow> matvec;
  std::vector<MatmulRow> matmul;
  std::vector<ChainRow> chain = {chain_steps()};
  // The name of the row for a product of values of types a and b; the first row if null.
  const char* (*choose_matmul)(const Plan& plan, DType a, DType b) = nullptr;
};

// Kernel files register the function that creates their table. Only the functions of the best set that this machine
// supports are ever called, so these files must not run any other code at start-up. The CPU's files are compiled once
// for each instruction set, and each build is one set; the GPU has a single set.
constexpr int kEverySet = 0;  // for kernels without SIMD code: used where a format has none for a better set
struct RegisterKernels {
  RegisterKernels(const char* format, int set, FormatKernels (*make)());
};
const FormatKernels& kernels(const std::string& format);

// The row of this name ("" = the default); std::invalid_argument lists the existing names.
const MatvecRow& find_matvec(const std::string& format, const std::string& kernel);
const MatmulRow& find_matmul(const std::string& format, const std::string& kernel);
const ChainRow& find_chain(const std::string& format, const std::string& kernel);
// The row that runs a plan with values of types a and b; "" = the choice of the format's table.
const MatmulRow& choose_matmul(const Plan& plan, const std::string& kernel, DType a, DType b);
// The row that multiplies values of these types by a plan: the given one or its fallback.
const MatmulRow& row_that_runs(const MatmulRow& row, const Plan& plan, DType a, DType b);
// Throws if a row does not multiply values of these types.
void check_types(const MatmulRow& row, DType a, DType b);
// The function of a row for these types.
MatvecKernel matvec_kernel(const MatvecRow& row, DType a, DType x);
ChainKernel chain_kernel(const ChainRow& row, DType a, DType x);

// The pairs that a kernel of this kind supports. The product in a chain is multiplied again, so it must have the type
// of x.
template <class Function, class U, class V>
constexpr bool pair_in_table = pair_supported<U, V> &&
                               (!std::is_same_v<Function, ChainKernel> || std::is_same_v<Product<U, V>, V>);

// Fills a table with `Kernel<U, V>::run` for these pairs of value types.
template <template <class, class> class Kernel, class U, class V, class Function>
void fill_cell(Typed<Function>& typed) {
  if constexpr (pair_in_table<Function, U, V>) {
    typed.at[static_cast<int>(dtype_of<U>())][static_cast<int>(dtype_of<V>())] = &Kernel<U, V>::run;
  }
}
template <template <class, class> class Kernel, class U, class Function>
void fill_row(Typed<Function>& typed) {
  fill_cell<Kernel, U, float>(typed);
  fill_cell<Kernel, U, double>(typed);
  fill_cell<Kernel, U, Complex<float>>(typed);
  fill_cell<Kernel, U, Complex<double>>(typed);
}
template <template <class, class> class Kernel, class Function>
Typed<Function> every_pair() {
  Typed<Function> typed;
  fill_row<Kernel, float>(typed);
  fill_row<Kernel, double>(typed);
  fill_row<Kernel, Complex<float>>(typed);
  fill_row<Kernel, Complex<double>>(typed);
  return typed;
}
// Operands of the same type only.
template <template <class, class> class Kernel, class Function>
Typed<Function> one_type() {
  Typed<Function> typed;
  fill_cell<Kernel, float, float>(typed);
  fill_cell<Kernel, double, double>(typed);
  fill_cell<Kernel, Complex<float>, Complex<float>>(typed);
  fill_cell<Kernel, Complex<double>, Complex<double>>(typed);
  return typed;
}
// Every pair, and in addition left operands stored in 16 bits.
template <template <class, class> class Kernel, class Function>
Typed<Function> every_stored_pair() {
  Typed<Function> typed = every_pair<Kernel, Function>();
  fill_row<Kernel, Float16>(typed);
  fill_row<Kernel, BFloat16>(typed);
  return typed;
}

}  // namespace diagsparse
