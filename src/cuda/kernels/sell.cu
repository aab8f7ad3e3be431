// sell on the GPU: from rows and to rows, the gate, and the kernel "row".
//
// y = alpha op(A) x + beta y.
//   A: m x n in slices of C rows; entry w of stored row p lies at place slice_indptr[p / C] + w C + p % C of indices
//   and values; -1 where the padding of a row begins; row_order (m) says which row of A it is, row_lengths (m) how many
//   entries it has; either may be missing.  x: n, or n x k.  y: m, or m x k.
//
// A thread takes a stored row, or several where rows are few and long (walked_rows.cuh). It is meant for rows that are
// about as long as those next to them. A transpose is gathered by rows, over an index of them.
#include "core/convert.hpp"
#include "device/resident.cuh"
#include "entries/coordinates.cuh"
#include "entries/sorted_keys.cuh"
#include "formats/csr.hpp"
#include "formats/sell.hpp"
#include "kernels/row_kernels.hpp"
#include "kernels/rows/shares.hpp"
#include "kernels/stored_rows.cuh"
#include "kernels/walked_rows.cuh"
#include "matrices/faults.cuh"

namespace diagsparse {

namespace cuda::slices {

namespace {

// Places of a row of the longest slice; kept with A.
struct LongestSlice {
  int64 places = 0;

  template <class F>
  void visit(const F&) const {}
};
int64 longest_slice(const Matrix& m) {
  return keep<LongestSlice>(m.kept(), "longest slice",
                            [&] {
                              const auto a = Sell<float>::over(*m.structure, nullptr);
                              const int64 places = rows::longest_of(a.slice_indptr, a.slices);
                              return std::make_shared<LongestSlice>(LongestSlice{places / a.height});
                            })
      ->places;
}

template <class U, class V>
struct Row {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (op.transposed) return rows::gather_transpose<U, V>(m, op, alpha, x, beta, y);
    with_index_type(m.index("indices").dtype, [&](auto zero) {
      using A = Sell<U, decltype(zero)>;
      walk_all_rows<A, U, V>("sell matvec", A::of(m), m.values.size(), longest_slice(m), op, alpha, x, beta, y);
    });
  }
};

void prepare(const Matrix& m, Op op) {
  if (op.transposed) rows::prepare_transpose(m, op);
  else longest_slice(m);
}

FormatKernels make() { return {{{"row", every_pair<Row, MatvecKernel>(), prepare}, cusparse::matvec()}, {}}; }
const RegisterKernels registered("sell", 0, make);

// ---- From rows --------------------------------------------------------------------------
// Sorted, the rows of a window stay together, long ones first.
__global__ void __launch_bounds__(kBlock)
    write_order_keys(const std::int64_t* indptr, int64 rows, int64 sigma, Key* keys, int64* places) {
  const int64 i = thread_index();
  if (i >= rows) return;
  keys[i] = make_key(i / sigma, 0x7fffffff - (indptr[i + 1] - indptr[i]));
  places[i] = i;
}

__global__ void __launch_bounds__(kBlock) narrow(const int64* places, int64 count, std::int32_t* order) {
  const int64 p = thread_index();
  if (p < count) order[p] = static_cast<std::int32_t>(places[p]);
}

// sizes[s] = the places of slice s; a warp takes it.
__global__ void __launch_bounds__(kBlock) measure_slices(const std::int64_t* indptr, const std::int32_t* row_order,
                                                         int64 rows, int64 height, int64 slices, std::int64_t* sizes) {
  const int64 s = thread_index() / 32;
  if (s >= slices) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  int64 longest = 0;
  for (int64 p = s * height + lane; p < min(rows, (s + 1) * height); p += 32) {
    const int64 i = row_order ? row_order[p] : p;
    longest = max(longest, indptr[i + 1] - indptr[i]);
  }
  for (int step = 16; step > 0; step /= 2) longest = max(longest, __shfl_down_sync(0xffffffffu, longest, step));
  if (lane == 0) sizes[s] = longest * height;
}

// A thread takes a stored row, those beyond the last one among them.
template <class T>
__global__ void __launch_bounds__(kBlock)
    spread(const Csr<T> csr, const Sell<T> a, std::int32_t* indices, T* values, std::int32_t* lengths) {
  const int64 p = thread_index();
  if (p >= a.slices * a.height) return;
  const int64 i = p < a.rows ? a.row(p) : 0, stop = p < a.rows ? csr.indptr[i + 1] : 0;
  int64 e = p < a.rows ? csr.indptr[i] : 0;
  if (lengths && p < a.rows) lengths[p] = static_cast<std::int32_t>(stop - e);
  const int64 end = a.slice_indptr[p / a.height + 1];
  for (int64 to = a.begin(p); to < end; to += a.height, ++e) {
    indices[to] = e < stop ? csr.indices[e] : -1;
    values[to] = e < stop ? csr.values[e] : T{};
  }
}

// ---- The gate ---------------------------------------------------------------------------------------
__global__ void __launch_bounds__(kBlock) check_slices(const Sell<float> a, int64 places, Position* wrong) {
  const int64 s = thread_index();
  if (s > a.slices) return;
  const int64 at = a.slice_indptr[s], before = s > 0 ? a.slice_indptr[s - 1] : 0;
  const bool ends = (s > 0 || at == 0) && (s < a.slices || at == places);
  if (at < before || at > places || at % a.height != 0 || !ends) tell(wrong, s);
}

// named[i] = the first place that names row i.
__global__ void __launch_bounds__(kBlock) name_rows(const Sell<float> a, Position* named, Position* wrong) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const int64 i = a.row_order[p];
  if (i < 0 || i >= a.rows) tell(wrong, p);
  else tell(named + i, p);
}
__global__ void __launch_bounds__(kBlock) check_names(const Sell<float> a, const Position* named, Position* wrong) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const int64 i = a.row_order[p];
  if (i >= 0 && i < a.rows && named[i] != static_cast<Position>(p)) tell(wrong, p);
}

__global__ void __launch_bounds__(kBlock) check_lengths(const Sell<float> a, Position* wrong) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const int64 s = p / a.height, width = (a.slice_indptr[s + 1] - a.slice_indptr[s]) / a.height;
  if (a.row_lengths[p] < 0 || a.row_lengths[p] > width) tell(wrong, p);
}

// A thread takes a stored row: its indices lie in the matrix, each after the one before it, or are padding.
__global__ void __launch_bounds__(kBlock)
    check_places(const Sell<float> a, Position* outside, Position* order, Position* lengths) {
  const int64 p = thread_index();
  if (p >= a.slices * a.height) return;
  const int64 end = a.slice_indptr[p / a.height + 1];
  std::int32_t before = 0;
  for (int64 begin = a.begin(p), e = begin; e < end; e += a.height) {
    const std::int32_t j = a.columns.indices[e];
    if (j < -1 || j >= a.cols || (j >= 0 && p >= a.rows)) return tell(outside, e);
    if (j >= 0 && e > begin && (before < 0 || j <= before)) return tell(order, e);
    if (a.row_lengths && p < a.rows && (j >= 0) != (e < a.end(p))) return tell(lengths, p);
    before = j;
  }
}

}  // namespace

}  // namespace cuda::slices

using namespace cuda;
using namespace cuda::slices;

Array order_rows(const Matrix& csr, int64 sigma) {
  Keys keys(csr.rows);
  launch("write order keys", write_order_keys, blocks(csr.rows), dim3(kBlock), csr.index("indptr").as<std::int64_t>(),
         csr.rows, sigma, keys.key(), keys.place());
  sort(keys);
  Array made = Array::empty(DType::i32, {csr.rows});
  launch("narrow", narrow, blocks(csr.rows), dim3(kBlock), keys.place(), csr.rows, made.as<std::int32_t>());
  return made;
}

int64 place_slices(const Matrix& csr, int64 height, const std::int32_t* row_order, int64* slice_indptr) {
  const int64 slices = slices_of(csr.rows, height);
  CUDA_CALL(cudaMemsetAsync(slice_indptr, 0, sizeof(int64), stream()));
  launch("measure slices", measure_slices, blocks(slices * 32), dim3(kBlock), csr.index("indptr").as<std::int64_t>(),
         row_order, csr.rows, height, slices, slice_indptr + 1);
  return inclusive_sum(slice_indptr + 1, slice_indptr + 1, slices);
}

void spread_rows(const Matrix& m, const Matrix& to) {
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Sell<T> a = Sell<T>::of(to);
    launch("spread rows", spread<T>, blocks(a.slices * a.height), dim3(kBlock), Csr<T>::of(m), a,
           to.index("indices").as<std::int32_t>(), to.values.as<T>(),
           a.row_lengths ? to.index("row_lengths").as<std::int32_t>() : nullptr);
  });
}

Matrix rows_from_sell(const Matrix& m) { return rows_from_stored<Sell>(m); }

Fault fault_in_slices(const Sell<float>& a, int64 places) {
  const Firsts found;
  launch("check slices", check_slices, blocks(a.slices + 1), dim3(kBlock), a, places, found.outside());
  return found.fault(Fault::pointers);
}

Fault fault_in_row_order(const Sell<float>& a) {
  if (!a.row_order) return {};
  const Firsts found;
  const Scratch<Position> named(a.rows);
  CUDA_CALL(cudaMemsetAsync(named.get(), 0xff, a.rows * sizeof(Position), stream()));
  launch("name rows", name_rows, blocks(a.rows), dim3(kBlock), a, named.get(), found.outside());
  launch("check names", check_names, blocks(a.rows), dim3(kBlock), a, named.get(), found.outside());
  return found.fault(Fault::pointers);
}

Fault fault_in_sell(const Sell<float>& a) {
  const Firsts lengths, places;
  if (a.row_lengths) {
    launch("check lengths", check_lengths, blocks(a.rows), dim3(kBlock), a, lengths.outside());
    if (const Fault fault = lengths.fault(Fault::pointers); fault.kind != Fault::none) return fault;
  }
  launch("check places", check_places, blocks(a.slices * a.height), dim3(kBlock), a, places.outside(), places.order(),
         lengths.outside());
  if (const Fault fault = places.fault(Fault::outside); fault.kind != Fault::none) return fault;
  return lengths.fault(Fault::pointers);
}

}  // namespace diagsparse
