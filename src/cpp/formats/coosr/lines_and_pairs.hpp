// Code shared by coosr and coosc: their arrays can be read as csr or csc, and also as coo.
#pragma once

#include <string_view>

#include "core/format.hpp"
#include "core/kernel_table.hpp"

namespace diagsparse {

// The same matrix as csr (for coosr) or csc (for coosc), over the same arrays. The two share the data that kernels
// cache.
Matrix as_lines(const Matrix& m);
// The same entries as coo. For coosc this is the coo of the transpose, so op.transposed is negated.
Matrix as_pairs(const Matrix& m, Op& op);

// The default kernel of csr or csc, registered under the given name, and the kernel "entry" of coo.
FormatKernels kernels_on_lines_and_pairs(const char* lines_default);

// ---- Used in the tables of the two formats -----------------------------------------------------------------
constexpr bool by_column(std::string_view format) { return format == "coosc"; }
Matrix lines_and_pairs_from_csr(const Matrix& csr, const Format& format, const Options& options);
Matrix csr_from_lines_and_pairs(const Matrix& a, Op op);
void check_lines_and_pairs(const Matrix& m);  // also checks that both views of the arrays agree

}  // namespace diagsparse
