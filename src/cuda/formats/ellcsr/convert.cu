// ellcsr on the GPU: conversion from and to rows, and validation.
#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "device/faults.cuh"
#include "device/values.cuh"
#include "entries/coordinates.cuh"
#include "formats/ellcsr/layout.hpp"

namespace diagsparse {

namespace cuda::ellcsr {

namespace {

constexpr int kWarps = kBlock / 32;

Csr<float> structure_of(const Matrix& m) {
  return {m.rows, m.cols, m.index("indptr").as<int64>(), m.index("indices").as<std::int32_t>(), nullptr};
}

// A thread processes an entry.
__global__ void __launch_bounds__(kBlock)
    find_unmatched(const Csr<float> a, int64 count, const Coordinates positions, int64 column, unsigned* unmatched) {
  const int64 e = thread_index();
  if (e >= count) return;
  const int64 i = positions.row_of(e), j = a.indices[e], end = a.indptr[j + 1];
  if (min(i, j) >= column) return;
  const int64 mirror = bisect(a.indptr[j], end, [&](int64 k) { return a.indices[k] < i; });
  if (mirror == end || a.indices[mirror] != i) *unmatched = 1;
}

// A thread processes a row: it counts its entries outside of the leading part.
__global__ void __launch_bounds__(kBlock) count_rest(const Csr<float> csr, Leading leading, std::int64_t* counts) {
  const int64 i = thread_index();
  if (i >= csr.rows) return;
  const std::int32_t* const columns = csr.indices + csr.indptr[i];
  const int64 count = csr.indptr[i + 1] - csr.indptr[i];
  counts[i] = leading.count_stored(i, columns, count) - leading.of(i, columns, count);
}

// A warp processes a row.
template <class T>
__global__ void __launch_bounds__(kBlock)
    split_rows(const Csr<T> csr, int64 width, Leading leading, const std::int64_t* indptr, std::int32_t* head,
               std::int32_t* rest, T* values) {
  const int64 i = thread_index() / 32, lane = threadIdx.x % 32;
  if (i >= csr.rows) return;
  const int64 begin = csr.indptr[i],
              end = begin + leading.count_stored(i, csr.indices + begin, csr.indptr[i + 1] - begin);
  const int64 middle = end - (indptr[i + 1] - indptr[i]);
  for (int64 w = lane; w < width; w += 32) {
    const bool entry = begin + w < middle;
    head[i * width + w] = entry ? csr.indices[begin + w] : -1;
    values[i * width + w] = entry ? csr.values[begin + w] : T{};
  }
  for (int64 to = indptr[i] + lane, from = middle + lane; to < indptr[i + 1]; to += 32, from += 32) {
    rest[to] = csr.indices[from];
    values[csr.rows * width + to] = csr.values[from];
  }
}

__global__ void __launch_bounds__(kBlock) measure_both_parts(const EllCsr<float> a, std::int64_t* lengths) {
  const int64 i = thread_index();
  if (i < a.rows) lengths[i] = a.leading(i) + a.indptr[i + 1] - a.indptr[i];
}

// A warp processes a row.
template <class T>
__global__ void __launch_bounds__(kBlock)
    join_rows(const EllCsr<T> a, const std::int64_t* indptr, std::int32_t* indices, T* values) {
  const int64 i = thread_index() / 32, lane = threadIdx.x % 32;
  if (i >= a.rows) return;
  const int64 begin = indptr[i], middle = indptr[i + 1] - (a.indptr[i + 1] - a.indptr[i]);
  for (int64 to = begin + lane, from = i * a.width + lane; to < middle; to += 32, from += 32) {
    indices[to] = a.head.indices[from];
    values[to] = a.head_values[from];
  }
  for (int64 to = middle + lane, from = a.indptr[i] + lane; to < indptr[i + 1]; to += 32, from += 32) {
    indices[to] = a.rest.indices[from];
    values[to] = a.rest_values[from];
  }
}

// A warp processes a row, and distributes its leading columns over banks. It counts them first.
template <class T>
__global__ void __launch_bounds__(kBlock) distribute_rows(const EllCsr<T> a, std::int32_t* head, T* values) {
  __shared__ std::int32_t banks[kWarps][BankOrder::kBanks];
  const int64 i = thread_index() / 32, line = i * a.width;
  const int lane = threadIdx.x % 32;
  std::int32_t* const bank_of = banks[threadIdx.x / 32];
  if (i >= a.rows) return;
  if (lane < BankOrder::kBanks) bank_of[lane] = 0;
  __syncwarp();
  for (int64 w = lane; w < a.width; w += 32) {
    if (a.head.indices[line + w] >= 0) atomicAdd(bank_of + BankOrder::bank(a.head.indices[line + w]), 1);
  }
  __syncwarp();
  BankOrder bank_order;
  for (int b = 0; b < BankOrder::kBanks; ++b) bank_order.all += bank_order.counts[b] = bank_of[b];
  __syncwarp();
  if (lane < BankOrder::kBanks)
    bank_of[lane] = 0;  // from now on, counts the entries of each bank that have been placed
  for (int64 first = 0; first < a.width; first += 32) {
    const int64 w = first + lane;
    const std::int32_t j = w < a.width ? a.head.indices[line + w] : -1;
    const int bank = j >= 0 ? BankOrder::bank(j) : BankOrder::kBanks;
    const unsigned same_bank = __match_any_sync(0xffffffffu, bank), before = same_bank & ((1u << lane) - 1);
    __syncwarp();
    int64 to = w;
    if (j >= 0) to = bank_order.position(bank_of[bank] + __popc(before), bank);
    __syncwarp();
    if (j >= 0 && before == 0) bank_of[bank] += __popc(same_bank);
    if (w < a.width) head[line + to] = j, values[line + to] = a.head_values[line + w];
  }
}

// A warp processes a row. A lane counts the entries that precede its own in ascending order; padding is last.
template <class T>
__global__ void __launch_bounds__(kBlock) sort_rows(const EllCsr<T> a, std::int32_t* head, T* values) {
  const int64 i = thread_index() / 32, line = i * a.width;
  if (i >= a.rows) return;
  for (int64 w = threadIdx.x % 32; w < a.width; w += 32) {
    const auto column = static_cast<std::uint32_t>(a.head.indices[line + w]);
    int64 to = line;
    for (int64 v = 0; v < a.width; ++v) {
      const auto other = static_cast<std::uint32_t>(a.head.indices[line + v]);
      to += other < column || (other == column && v < w);
    }
    head[to] = a.head.indices[line + w], values[to] = a.head_values[line + w];
  }
}

// The same matrix, with new arrays for the leading part, which `kernel` writes.
template <class F>
Matrix with_new_head(const char* what, const Matrix& m, const F& kernel) {
  const Shape head_shape = m.index("ell_indices").shape;
  Array head = Array::empty(DType::i32, head_shape), values = Array::empty(m.dtype, {m.values.size()});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(what, kernel(zero), blocks(m.rows * 32), dim3(kBlock), EllCsr<T>::of(m), head.as<std::int32_t>(),
           values.as<T>());
    const int64 first = head_shape.size() * sizeof(T);
    copy_bytes(values.as<char>() + first, m.values.as<char>() + first, values.nbytes() - first);
  });
  return with_head(m, std::move(head), std::move(values));
}

// A thread checks a leading column: it is inside the matrix or padding, and greater than the previous one of its row.
__global__ void __launch_bounds__(kBlock)
    check_leading(const EllCsr<float> a, int64 mirrored, Position* outside, Position* order) {
  const int64 e = thread_index();
  if (e >= a.rows * a.width) return;
  const std::int32_t j = a.head.indices[e];
  if (j < -1 || j >= a.end_of_head(e / a.width, mirrored)) return report(outside, e);
  const std::int32_t before = e % a.width > 0 ? a.head.indices[e - 1] : 0;
  if (j >= 0 && e % a.width > 0 && (before < 0 || j <= before)) report(order, e);
}

// A thread checks that a leading column does not follow padding of its row.
__global__ void __launch_bounds__(kBlock) check_padding(const EllCsr<float> a, Position* order) {
  const int64 e = thread_index();
  if (e >= a.rows * a.width || e % a.width == 0) return;
  if (a.head.indices[e] >= 0 && a.head.indices[e - 1] == -1) report(order, e);
}

// A thread checks a row: the columns of its rest are greater than all leading ones.
__global__ void __launch_bounds__(kBlock)
    check_rest(const EllCsr<float> a, int64 mirrored, Position* outside, Position* order) {
  const int64 i = thread_index();
  if (i >= a.rows || a.indptr[i] == a.indptr[i + 1]) return;
  if (!a.fits_mirror(i, mirrored)) return report(outside, a.rows * a.width + a.indptr[i]);
  for (int64 w = 0; w < a.width; ++w) {
    if (a.leading_column(i, w) >= a.rest_column(a.indptr[i])) return report(order, a.rows * a.width + a.indptr[i]);
  }
}

}  // namespace

}  // namespace cuda::ellcsr

using namespace cuda;
using namespace cuda::ellcsr;

bool entries_have_mirrors(const Matrix& m, int64 column) {
  const int64 count = m.values.size();
  const Scratch<unsigned> unmatched(1);
  CUDA_CALL(cudaMemsetAsync(unmatched.get(), 0, sizeof(unsigned), stream()));
  launch("find unmatched entries", find_unmatched, blocks(count), dim3(kBlock), structure_of(m), count,
         Coordinates::of(m, {}), column, unmatched.get());
  return download(unmatched.get(), 1)[0] == 0;
}

Matrix ellcsr_from_rows(const Matrix& m, int64 width, Leading leading) {
  Array indptr = Array::zeros(DType::i64, {m.rows + 1}), head = Array::empty(DType::i32, {m.rows, width});
  auto* start = indptr.as<std::int64_t>();
  launch("count rest", count_rest, blocks(m.rows), dim3(kBlock), structure_of(m), leading, start + 1);
  const int64 count = inclusive_sum(start + 1, start + 1, m.rows);
  Array rest = Array::empty(DType::i32, {count}), values = Array::empty(m.dtype, {head.size() + count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("split rows", split_rows<T>, blocks(m.rows * 32), dim3(kBlock), Csr<T>::of(m), width, leading, start,
           head.as<std::int32_t>(), rest.as<std::int32_t>(), values.as<T>());
  });
  return ellcsr_over(m.rows, m.cols, std::move(head), std::move(rest), std::move(indptr), m.values.size(),
                     std::move(values));
}

Matrix in_bank_order(const Matrix& m) {
  return with_new_head("distribute rows", m, [](auto zero) { return distribute_rows<decltype(zero)>; });
}

Matrix in_column_order(const Matrix& m) {
  return with_new_head("sort rows", m, [](auto zero) { return sort_rows<decltype(zero)>; });
}

Matrix rows_from_ellcsr(const Matrix& m) {
  Array indptr = Array::zeros(DType::i64, {m.rows + 1});
  auto* start = indptr.as<std::int64_t>();
  launch("measure rows", measure_both_parts, blocks(m.rows), dim3(kBlock), EllCsr<float>::over(*m.structure, nullptr),
         start + 1);
  const int64 count = inclusive_sum(start + 1, start + 1, m.rows);
  Array indices = Array::empty(DType::i32, {count}), values = Array::empty(m.dtype, {count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("join rows", join_rows<T>, blocks(m.rows * 32), dim3(kBlock), EllCsr<T>::of(m), start,
           indices.as<std::int32_t>(), values.as<T>());
  });
  return compressed(*common, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

Fault fault_in_ellcsr(const EllCsr<float>& a, int64 mirrored) {
  const FirstFaults found;
  launch("check leading", check_leading, blocks(a.rows * a.width), dim3(kBlock), a, mirrored, found.outside(),
         found.order());
  launch("check rest", check_rest, blocks(a.rows), dim3(kBlock), a, mirrored, found.outside(), found.order());
  return found.fault(Fault::outside);
}

Fault fault_in_padding(const EllCsr<float>& a) {
  const FirstFaults found;
  launch("check padding", check_padding, blocks(a.rows * a.width), dim3(kBlock), a, found.order());
  return found.fault(Fault::order);
}

}  // namespace diagsparse
