// What coosr and coosc have alike: their arrays are those of csr or csc, and those of coo.
#pragma once

#include <string_view>

#include "core/format.hpp"
#include "core/kernel_table.hpp"

namespace diagsparse {

// The same matrix as csr (of coosr) or csc (of coosc), on the same arrays; both share what kernels keep.
Matrix as_lines(const Matrix& m);
// The same entries as coo, which for coosc is that of the transpose: op is turned then.
Matrix as_pairs(const Matrix& m, Op& op);

// The default kernel of csr or csc on these arrays, under its name, and coo's "entry".
FormatKernels kernels_on_lines_and_pairs(const char* lines_default);

// ---- For the tables of the two formats -----------------------------------------------------------------
constexpr bool by_column(std::string_view format) { return format == "coosc"; }
Matrix lines_and_pairs_from_csr(const Matrix& csr, const Format& format, const Options& options);
Matrix csr_from_lines_and_pairs(const Matrix& a, Op op);
void check_lines_and_pairs(const Matrix& m);  // both ways to read the arrays agree

}  // namespace diagsparse
