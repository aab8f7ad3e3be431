// mdia on the GPU: conversion from and to rows, counts, and validation.
#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "core/summary.hpp"
#include "device/bisection.cuh"
#include "device/faults.cuh"
#include "entries/sorted_keys.cuh"
#include "formats/mdia/masks.cuh"
#include "formats/mdia/palette.hpp"

namespace diagsparse {

namespace cuda::mdia {

namespace {

// ---- A warp processes a block of rows, and its lanes the diagonals ------------------------------------------
// in_block[b]: the bits of block b on diagonals whose values are stored one by one (codings may be null); on_diagonal
// is increased by those of this diagonal (-1: of none).
__global__ void __launch_bounds__(kBlock)
    count_bits(const Mask* mask, int64 blocks, int64 diagonals, const Coding* codings, int64 diagonal,
               std::int64_t* in_block, unsigned long long* on_diagonal) {
  const int64 b = thread_index() / 32;
  if (b >= blocks) return;
  unsigned count = 0;  // a block has less than 2^32
  for (int64 d = threadIdx.x % 32; d < diagonals; d += 32) {
    const int bits = __popc(mask[b * diagonals + d]);
    if (codings == nullptr || codings[d].is_stored()) count += bits;
    if (d == diagonal && bits > 0) atomicAdd(on_diagonal, static_cast<unsigned long long>(bits));
  }
  count = __reduce_add_sync(~0u, count);
  if (threadIdx.x % 32 == 0) in_block[b] = count;
}

// positions[b, d]: the bits of block b on the diagonals before d whose values are stored one by one.
__global__ void __launch_bounds__(kBlock)
    find_positions(const Mask* mask, int64 blocks, int64 diagonals, const Coding* codings, std::uint32_t* positions) {
  const int64 b = thread_index() / 32;
  if (b >= blocks) return;
  const int lane = threadIdx.x % 32;
  std::uint32_t before = 0;
  for (int64 base = 0; base < diagonals; base += 32) {
    const int64 d = base + lane;
    const bool counts = d < diagonals && (codings == nullptr || codings[d].is_stored());
    const std::uint32_t bits = counts ? __popc(mask[b * diagonals + d]) : 0;
    std::uint32_t sum = bits;
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += other;
    }
    if (d < diagonals) positions[b * diagonals + d] = before + sum - bits;
    before += __shfl_sync(~0u, sum, 31);
  }
}

// ---- From rows: a thread processes a row ----------------------------------------------------------------------
// The index of a diagonal by its offset; negative if there is no such diagonal.
struct InTable {
  const std::int32_t* number;
  int64 rows;
  __device__ int64 operator()(int64 offset) const { return number[offset + rows - 1]; }
};
struct AmongOffsets {
  const std::int64_t* offsets;
  int64 count;
  __device__ int64 operator()(int64 offset) const {
    const int64 d = bisect(0, count, [&](int64 k) { return offsets[k] < offset; });
    return d < count && offsets[d] == offset ? d : -1;
  }
};
template <class F>
void with_numbers(const Matrix& csr, const std::vector<int64>& offsets, const Array& resident, const F& f) {
  const auto count = static_cast<int64>(offsets.size());
  if (!table_is_worthwhile(csr.rows, csr.cols, csr.values.size())) {
    return f(AmongOffsets{resident.as<const std::int64_t>(), count});
  }
  std::vector<std::int32_t> numbers(csr.rows + csr.cols, -1);
  for (int64 d = 0; d < count; ++d) numbers[offsets[d] + csr.rows - 1] = static_cast<std::int32_t>(d);
  const Array table = upload(numbers);
  f(InTable{table.as<const std::int32_t>(), csr.rows});
}

template <class Number>
__global__ void __launch_bounds__(kBlock)
    mark_rows(const Csr<char> a, const Number number, int64 diagonals, Mask* mask) {
  const int64 i = thread_index();
  if (i >= a.rows) return;
  for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
    const int64 d = number(a.indices[e] - i);
    if (d >= 0) atomicOr(mask + i / kMaskRows * diagonals + d, Mask{1} << i % kMaskRows);
  }
}

template <class T, class Number>
__global__ void __launch_bounds__(kBlock)
    place_values(const Csr<T> a, const Number number, const MaskedOperand<T> to, T* values) {
  const int64 i = thread_index();
  if (i >= a.rows) return;
  for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
    const int64 d = number(a.indices[e] - i);
    if (d >= 0) values[to.position({0, static_cast<std::int32_t>(d), false, false}, i)] = a.values[e];
  }
}

// ---- To rows: a thread processes a row of op(A) ---------------------------------------------------------------
__global__ void __launch_bounds__(kBlock) count_row(const MaskedOperand<char> a, const MaskedDiagonal* diagonals,
                                                    int count, int64 rows, std::int64_t* lengths) {
  const int64 i = thread_index();
  if (i >= rows) return;
  int64 length = 0;
  for (int d = 0; d < count; ++d) length += a.mask(diagonals[d], i) & 1;
  lengths[i] = length;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    write_row(const MaskedOperand<T> a, const MaskedDiagonal* diagonals, int count, int64 rows,
              const std::int64_t* indptr, std::int32_t* indices, T* values) {
  const int64 i = thread_index();
  if (i >= rows) return;
  int64 to = indptr[i];
  for (int d = 0; d < count; ++d) {
    const MaskedDiagonal& diagonal = diagonals[d];
    const int64 position = a.position(diagonal, i);
    if (position < 0) continue;
    indices[to] = static_cast<std::int32_t>(i + diagonal.offset);
    values[to++] = a.value(diagonal, position);
  }
}

// ---- Validation ---------------------------------------------------------------------------------------------
__global__ void __launch_bounds__(kBlock) check_masks(const Mdia<char> a, Position* outside) {
  const int64 at = thread_index();
  if (at >= a.blocks() * a.diagonals) return;
  const Mask within = rows_within(a.rows, a.cols, a.offsets[at % a.diagonals], kMaskRows * (at / a.diagonals));
  if (a.mask[at] & ~within) report(outside, at);
}

__global__ void __launch_bounds__(kBlock)
    check_begins(const std::int64_t* begin, const std::int64_t* expected, int64 count, Position* invalid) {
  const int64 b = thread_index();
  if (b < count && begin[b] != expected[b]) report(invalid, b);
}

__global__ void __launch_bounds__(kBlock)
    check_codes(const Mdia<char> a, const std::int64_t* table_indptr, Position* outside) {
  const int64 at = thread_index(), d = at % a.diagonals;
  if (at >= a.blocks() * a.diagonals || a.codings[d].bits <= 0) return;
  for (int i = 0; i < kMaskRows; ++i) {
    if (a.in_table(a.codings[d], at / a.diagonals, i) >= table_indptr[d + 1]) report(outside, at);
  }
}

template <class R>
__global__ void __launch_bounds__(kBlock) find_imaginary(const Mdia<Complex<R>> a, int* found) {
  const int64 row = thread_index(), block = row / kMaskRows;
  if (row >= a.rows) return;
  const Mask rows = a.mask[block * a.diagonals];
  const int bit = static_cast<int>(row % kMaskRows);
  if ((rows >> bit & 1) && !(a.values[a.begin[block] + __popc(rows & below(bit))].im == 0)) *found = 1;
}

}  // namespace

}  // namespace cuda::mdia

using namespace cuda;
using namespace cuda::mdia;

MaskedCounts count_masked(const Array& mask, int64 diagonal, const Coding* codings, int64 tables) {
  const int64 blocks = mask.shape.rows, diagonals = mask.shape.cols;
  MaskedCounts counts{Array::zeros(DType::i64, {blocks + 1}), 0, 0};
  auto* const begin = counts.begin.as<std::int64_t>();
  const Scratch<unsigned long long> found(1);
  CUDA_CALL(cudaMemsetAsync(found.get(), 0, sizeof(unsigned long long), stream()));
  launch("count bits", count_bits, cuda::blocks(32 * blocks), dim3(kBlock), mask.as<const Mask>(), blocks, diagonals,
         codings, diagonal, begin + 1, found.get());
  copy_from_host(begin, &tables, sizeof tables);
  counts.all = inclusive_sum(begin, begin, blocks + 1) - tables;
  if (diagonal >= 0) {
    counts.on_diagonal = static_cast<int64>(download(static_cast<const unsigned long long*>(found.get()), 1)[0]);
  }
  return counts;
}

namespace {

Array positions_of(const Array& mask, const Coding* codings = nullptr) {
  Array result = Array::empty(DType::u32, {mask.size()});
  launch("find positions", find_positions, cuda::blocks(32 * mask.shape.rows), dim3(kBlock), mask.as<const Mask>(),
         mask.shape.rows, mask.shape.cols, codings, result.as<std::uint32_t>());
  return result;
}

}  // namespace

std::shared_ptr<const ValueStarts> value_starts(const Structure& structure) {
  return cached<ValueStarts>(structure.cache(), "value starts", [&] {
    const auto a = Mdia<char>::over(structure, nullptr);
    return std::make_shared<ValueStarts>(
        ValueStarts{positions_of(static_cast<const Indices&>(structure).at("mask"), a.codings)});
  });
}

Matrix masked_from_rows(const Matrix& m, const std::vector<int64>& offsets, Symmetry symmetry) {
  const auto diagonals = static_cast<int64>(offsets.size()), blocks = masks_along(m.rows);
  Array mask = Array::zeros(DType::u32, {blocks, diagonals}), resident = array_of(offsets), values;
  MaskedCounts counts;
  const bool half = symmetry != Symmetry::none, main = half && diagonals > 0 && offsets.front() == 0;
  with_numbers(m, offsets, resident, [&](const auto& number) {
    using Number = std::decay_t<decltype(number)>;
    launch("mark rows", mark_rows<Number>, cuda::blocks(m.rows), dim3(kBlock), Csr<char>::of(m), number, diagonals,
           mask.as<Mask>());
    counts = count_masked(mask, main ? 0 : -1);
    const Array positions = positions_of(mask);
    values = Array::empty(m.dtype, {counts.all});
    with_value_type(m.dtype, [&](auto zero) {
      using T = decltype(zero);
      const MaskedOperand<T> to{{m.rows, m.cols, diagonals, resident.as<std::int64_t>(), mask.as<Mask>(),
                                 counts.begin.as<std::int64_t>(), nullptr},
                                positions.as<const std::uint32_t>()};
      launch("place values", place_values<T, Number>, cuda::blocks(m.rows), dim3(kBlock), Csr<T>::of(m), number, to,
             values.as<T>());
    });
  });
  const int64 all = half ? 2 * counts.all - counts.on_diagonal : counts.all;
  return {mdia_structure(m.rows, m.cols, std::move(resident), std::move(mask), std::move(counts.begin), symmetry,
                         counts.all, all),
          std::move(values)};
}

Matrix rows_from_masked(const Matrix& given, Op op) {
  const Matrix m = without_palette(given);
  const auto diagonals = resident_diagonals(*m.structure, op);
  const int64 rows = op.transposed ? m.cols : m.rows, cols = op.transposed ? m.rows : m.cols;
  Array indptr = Array::zeros(DType::i64, {rows + 1}), indices, values;
  auto* const begin = indptr.as<std::int64_t>();
  launch("count rows", count_row, cuda::blocks(rows), dim3(kBlock),
         MaskedOperand<char>{Mdia<char>::over(*m.structure, nullptr), nullptr}, diagonals->begin(), diagonals->count,
         rows, begin + 1);
  const int64 count = inclusive_sum(begin, begin, rows + 1);
  indices = Array::empty(DType::i32, {count});
  values = Array::empty(m.dtype, {count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("write rows", write_row<T>, cuda::blocks(rows), dim3(kBlock), operand<T>(m), diagonals->begin(),
           diagonals->count, rows, begin, indices.as<std::int32_t>(), values.as<T>());
  });
  return compressed(*common, rows, cols, std::move(indices), std::move(indptr), std::move(values));
}

Fault fault_in_masks(const Structure& structure) {
  const auto a = Mdia<char>::over(structure, nullptr);
  const auto& arrays = static_cast<const Indices&>(structure);
  const FirstFaults masks, codes, begins;
  launch("check masks", check_masks, cuda::blocks(a.blocks() * a.diagonals), dim3(kBlock), a, masks.outside());
  if (a.codings != nullptr && a.blocks() * a.diagonals > 0) {
    launch("check codes", check_codes, cuda::blocks(a.blocks() * a.diagonals), dim3(kBlock), a,
           arrays.at("table_indptr").as<const std::int64_t>(), codes.outside());
  }
  const int64 tables = a.codings != nullptr ? table_pointers(arrays).back() : 0;
  const MaskedCounts counts = count_masked(arrays.at("mask"), -1, a.codings, tables);
  launch("check begins", check_begins, cuda::blocks(a.blocks() + 1), dim3(kBlock), a.begin,
         counts.begin.as<const std::int64_t>(), a.blocks() + 1, begins.outside());
  for (const Fault& fault : {masks.fault(Fault::outside), codes.fault(Fault::order)}) {
    if (fault.kind != Fault::none) return fault;
  }
  return begins.fault(Fault::pointers);
}

// The main diagonal has the lowest offset, so its table is the first one, or its values are the first of each block.
bool masked_diagonal_is_real(const Matrix& m) {
  const std::vector<int64>& offsets = offsets_of(*m.structure);
  if (offsets.empty() || offsets.front() != 0) return true;
  if (has_palette(*m.structure)) {
    const int64 colors = table_pointers(static_cast<const Indices&>(*m.structure))[1];
    if (colors > 0) return all_real(m.values, 0, colors);
  }
  const Scratch<int> found(1);
  CUDA_CALL(cudaMemsetAsync(found.get(), 0, sizeof(int), stream()));
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (is_complex<T>) {
      launch("find imaginary", find_imaginary<Real<T>>, cuda::blocks(m.rows), dim3(kBlock), Mdia<T>::of(m),
             found.get());
    }
  });
  return download(static_cast<const int*>(found.get()), 1)[0] == 0;
}

}  // namespace diagsparse
