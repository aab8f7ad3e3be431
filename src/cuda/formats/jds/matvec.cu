// jds on the GPU: conversion from and to csr, validation, and the kernel "section".
//
// y = alpha op(A) x + beta y.
//   A: m x n, sections of rows of equal length. Section s: rows row_order[p] for the positions p from section_rows[s]
//   to section_rows[s + 1]; entry w of its i-th row at section_indptr[s] + w rows + i, values[...] in column
//   indices[...]. x: n, or n x k.  y: m, or m x k.
//
// One launch for all sections. A block processes a part of one section. Each row is processed by `lanes` threads: one
// for short rows, more for long ones, most if a section has few rows; the block processes as many rows at a time as its
// threads allow. Lane l processes entries l, l + lanes, ...: neighbouring threads read neighbouring entries, and the
// corresponding elements of x through the caches. The sums of the lanes are added in shared memory. The number of lanes
// depends only on length and count of the rows, and the order of a sum is fixed, so every run gives the same bits. A
// block finds its section by bisection in a list that is cached with A, 8 bytes per section. A row of blocks processes
// every gridDim.y-th column of x. The kernel is meant for rows of very different lengths. A transpose is gathered by
// rows, with an index of them.
#include <bit>

#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "device/bisection.cuh"
#include "device/c_order.hpp"
#include "device/dense.cuh"
#include "device/faults.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "entries/coordinates.cuh"
#include "formats/jds/layout.hpp"
#include "kernels/rows/kernels.hpp"
#include "layouts/multiply_block.cuh"
#include "layouts/rows.cuh"

namespace diagsparse {

namespace cuda::jds {

namespace {

// ---- How sections are divided among blocks --------------------------------------------------------------
constexpr int64 kEntriesEach = 32;  // least number of entries per lane
constexpr int64 kLongest = 512;     // entries of a row of a matrix that multiplies blocks of columns row by row
constexpr int64 kSideBySide = 8;    // least rows at a time, if a section has as many: a sector of their indices

// Threads for each row of a section, a power of two.
__host__ __device__ inline int lanes_for(int64 length, int64 rows) {
  const auto wanted = std::bit_floor(static_cast<unsigned>(length / kEntriesEach) | 1u);
  const auto abreast = std::bit_ceil(static_cast<unsigned>(rows < kSideBySide ? rows : kSideBySide));
  const unsigned most = kBlock / abreast;
  return static_cast<int>(wanted < most ? wanted : most);
}

// The first block of each section, and the number of blocks; the empty rows are the last section.
struct ResidentBlocks {
  Array first;
  int64 count, longest;  // blocks; entries of the longest row

  auto arrays() const { return std::tie(first); }
};

std::shared_ptr<ResidentBlocks> blocks_of(const Matrix& m) {
  return cached<ResidentBlocks>(m.cache(), "blocks of sections", [&] {
    Jds<float> a = Jds<float>::over(*m.structure, nullptr);
    const std::vector<std::int32_t> rows = download(a.section_rows, a.sections + 1);
    const std::vector<std::int64_t> entries = download(a.section_indptr, a.sections + 1);
    a.section_rows = rows.data();
    a.section_indptr = entries.data();
    std::vector<std::int64_t> first;
    int64 count = 0;
    for (int64 s = 0; s <= a.sections; ++s) {
      const Section section = a.section(s);
      first.push_back(count);
      count += ceil_div(section.rows * lanes_for(section.length, section.rows), kBlock);
    }
    return std::make_shared<ResidentBlocks>(ResidentBlocks{upload(first), count, a.section(0).length});
  });
}

// The sum over all lanes of a row, returned to lane 0. `shared` has an element per thread; lanes are `rows` threads
// apart.
template <class T>
__device__ T sum_of_lanes(T* shared, T v, int lanes, int rows) {
  if (lanes == 1) return v;
  const int t = static_cast<int>(threadIdx.x);
  __syncthreads();  // until previous contents have been read
  shared[t] = v;
  for (int step = lanes / 2; step > 0; step /= 2) {
    __syncthreads();
    if (t < step * rows) shared[t] += shared[t + step * rows];
  }
  return shared[t];
}

template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    sum_sections(const Jds<U> a, const std::int64_t* first_block, bool conj, const Block<const V> x,
                 const Block<Product<U, V>> y, int64 cols, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  __shared__ T shared[kBlock];
  const int64 block = blockIdx.x;
  const int64 s = bisect(1, a.sections + 1, [&](int64 t) { return first_block[t] <= block; }) - 1;
  const Section section = a.section(s);
  const int lanes = lanes_for(section.length, section.rows), rows = kBlock / lanes;
  const int lane = static_cast<int>(threadIdx.x) / rows;
  const int64 i = (block - first_block[s]) * rows + threadIdx.x % rows;
  const bool mine = i < section.rows;
  const int64 row = mine ? a.row_order[section.first + i] : 0;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    T sum{};
    for (int64 w = mine ? lane : section.length; w < section.length; w += lanes) {
      const int64 e = section.entries + w * section.rows + i;
      const U value = conjugate_if(conj, load(a.values + e));
      sum += multiply(value, load(x.data + load(a.indices + e) * x.row + c * x.col));
    }
    sum = sum_of_lanes(shared, sum, lanes, rows);
    if (mine && lane == 0) update.one(y.data + row * y.row + c * y.col, sum);
  }
}

template <class U, class V>
struct SectionKernel {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    using T = Product<U, V>;
    if (op.transposed) return rows::gather_transpose<U, V>(m, op, alpha, x, beta, y);
    const std::shared_ptr<ResidentBlocks> resident_blocks = blocks_of(m);
    if (x.cols > 1 && resident_blocks->longest <= kLongest) {
      if (multiply_in_c_order(run, m, op, alpha, x, beta, y)) return;
      return multiply_columns<Jds<U>, U, V>("jds matvec", Jds<U>::of(m), kLongest, op, x, y, Update<T>(alpha, beta));
    }
    const dim3 grid(static_cast<unsigned>(resident_blocks->count),
                    static_cast<unsigned>(std::min<int64>(x.cols, 1024)));
    launch("jds matvec", sum_sections<U, V>, grid, dim3(kBlock), Jds<U>::of(m),
           resident_blocks->first.as<std::int64_t>(), op.conjugated, Block<const V>(x), Block<T>(y), x.cols,
           Update<T>(alpha, beta));
  }
};

void prepare(const Matrix& a, Op op) {
  if (op.transposed) rows::prepare_transpose(a, op);
  else blocks_of(a);
}

FormatKernels make() { return {{{"section", every_pair<SectionKernel, MatvecKernel>(), prepare}}, {}}; }
const RegisterKernels registered("jds", 0, make);

// ---- Entry by entry, so that a very long row does not delay a single thread ----------------------------
template <class T>
__device__ Section section_with(const Jds<T>& a, int64 e) {
  return a.section(bisect(1, a.sections, [&](int64 s) { return a.section_indptr[s] <= e; }) - 1);
}

// A thread processes an entry of the result, in the order in which these are stored.
template <class T>
__global__ void __launch_bounds__(kBlock)
    gather_entries(const Csr<T> csr, const Jds<T> to, std::int32_t* indices, T* values) {
  const int64 e = thread_index();
  if (e >= to.stored) return;
  const Section section = section_with(to, e);
  const int64 at = e - section.entries;
  const int64 from = csr.indptr[to.row_order[section.first + at % section.rows]] + at / section.rows;
  indices[e] = csr.indices[from];
  values[e] = csr.values[from];
}

__global__ void __launch_bounds__(kBlock) write_lengths(const Jds<float> a, std::int64_t* lengths) {
  const int64 p = thread_index();
  if (p < a.rows) lengths[a.row_order[p]] = a.section_at(p).length;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    scatter_entries(const Jds<T> a, const std::int64_t* indptr, std::int32_t* indices, T* values) {
  const int64 e = thread_index();
  if (e >= a.stored) return;
  const Section section = section_with(a, e);
  const int64 at = e - section.entries;
  const int64 to = indptr[a.row_order[section.first + at % section.rows]] + at / section.rows;
  indices[to] = a.indices[e];
  values[to] = a.values[e];
}

// ---- Validation --------------------------------------------------------------------------------------
__global__ void __launch_bounds__(kBlock) check_sections(const Jds<float> a, Position* borders, Position* lengths) {
  const int64 s = thread_index();
  if (s > a.sections) return;
  const Fault::Kind fault = a.fault_in_section(s);
  if (fault != Fault::none) report(fault == Fault::pointers ? borders : lengths, s);
}

__global__ void __launch_bounds__(kBlock) check_columns(const Jds<float> a, Position* outside, Position* order) {
  const int64 e = thread_index();
  if (e >= a.stored) return;
  const std::int32_t j = a.indices[e];
  if (j < 0 || j >= a.cols) return report(outside, e);
  const Section section = section_with(a, e);
  if (e - section.rows >= section.entries && j <= a.indices[e - section.rows]) report(order, e);
}

}  // namespace

}  // namespace cuda::jds

using namespace cuda;
using namespace cuda::jds;

template <>
void StoredRows<Jds>::fill(const Matrix& m, const Matrix& to) {
  const int64 count = m.values.size();
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("gather entries", gather_entries<T>, blocks(count), dim3(kBlock), Csr<T>::of(m), Jds<T>::of(to),
           to.index("indices").as<std::int32_t>(), to.values.as<T>());
  });
}

template <>
Matrix StoredRows<Jds>::to_csr(const Matrix& m) {
  Array indptr = Array::zeros(DType::i64, {m.rows + 1});
  auto* start = indptr.as<std::int64_t>();
  launch("write lengths", write_lengths, blocks(m.rows), dim3(kBlock), Jds<float>::over(*m.structure, nullptr),
         start + 1);
  inclusive_sum(start + 1, start + 1, m.rows);
  const int64 count = m.values.size();
  Array indices = Array::empty(DType::i32, {count}), values = Array::empty(m.dtype, {count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("scatter entries", scatter_entries<T>, blocks(count), dim3(kBlock), Jds<T>::of(m), start,
           indices.as<std::int32_t>(), values.as<T>());
  });
  return compressed(*common, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

template <>
Fault StoredRows<Jds>::fault_in_entries(const Structure& structure) {
  const Jds<float> a = Jds<float>::over(structure, nullptr);
  const FirstFaults found;
  launch("check columns", check_columns, blocks(a.stored), dim3(kBlock), a, found.outside(), found.order());
  return found.fault(Fault::outside);
}

template struct StoredRows<Jds>;  // instantiates the remaining members

Fault fault_in_sections(const Jds<float>& a) {
  const FirstFaults found;
  launch("check sections", check_sections, blocks(a.sections + 1), dim3(kBlock), a, found.outside(), found.order());
  return found.fault(Fault::pointers);
}

}  // namespace diagsparse
