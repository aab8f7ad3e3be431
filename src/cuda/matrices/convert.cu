// Conversions on the device: copies of diagonals, csr -> diagonals, diagonals -> csr.
#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "core/summary.hpp"
#include "core/validation.hpp"
#include "device/bisection.cuh"
#include "device/launch.cuh"
#include "device/runs.cuh"
#include "device/values.cuh"
#include "entries/sorted_keys.cuh"

namespace diagsparse {

namespace cuda {
namespace {

template <class S, class T>
__global__ void __launch_bounds__(kBlock)
    move_runs(const __grid_constant__ Runs<Move> moves, const S* from, T* to, const Factor<T> alpha, bool accumulate) {
  const Move& move = moves.at[blockIdx.y];
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 t = thread_index(); t < move.length; t += width) {
    const T value = alpha * convert<T>(conjugate_if(move.conjugated, load_once(from + move.from.at(t))));
    T* out = to + move.to.at(t);
    *out = accumulate ? *out + value : value;
  }
}

// Sets differs[m] to 1 if a value of move m differs. A benign race: all stores have the same value.
template <class T>
__global__ void __launch_bounds__(kBlock)
    compare_runs(const __grid_constant__ Runs<Move> moves, const T* from, const T* to, bool hermitian, int* differs) {
  const Move& move = moves.at[blockIdx.y];
  const bool real = hermitian && move.offset == 0;
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 t = thread_index(); t < move.length; t += width) {
    const T u = conjugate_if(move.conjugated, load(from + move.from.at(t))), v = load(to + move.to.at(t));
    if (!same(u, v) || (real && !same(v, conjugate_if(true, v)))) differs[blockIdx.y] = 1;
  }
}

// The position at which row 0 of a diagonal would be stored, kNotStored if the diagonal is not stored: from a table of
// all diagonals, or by a search in the spans.
constexpr int64 kNotStored = -(int64{1} << 62);
struct InTable {
  const int64* base;
  int64 rows;
  __device__ int64 operator()(int64 offset) const { return base[offset + rows - 1]; }
};
struct AmongSpans {
  const Span* spans;  // sorted by offset
  int64 count;
  __device__ int64 operator()(int64 offset) const {
    const int64 d = bisect(0, count, [&](int64 s) { return spans[s].offset < offset; });
    return d < count && spans[d].offset == offset ? spans[d].start - spans[d].row : kNotStored;
  }
};

// Calls f with one of them.
template <class F>
void with_starts(const Matrix& csr, const Layout& layout, const F& f) {
  if (!table_is_worthwhile(csr.rows, csr.cols, csr.values.size())) {
    const Array spans = upload(layout.spans);
    return f(AmongSpans{spans.as<const Span>(), static_cast<int64>(layout.spans.size())});
  }
  std::vector<int64> base(csr.rows + csr.cols, kNotStored);
  for (const Span& s : layout.spans) base[s.offset + csr.rows - 1] = s.start - s.row;
  const Array table = upload(base);
  f(InTable{table.as<const int64>(), csr.rows});
}

// A warp processes a row and writes its entries to their diagonals.
template <class T, class Base>
__global__ void __launch_bounds__(kBlock) scatter_rows(const Csr<T> a, const Base base, T* values) {
  const int64 i = thread_index() / 32;
  if (i >= a.rows) return;
  for (int64 e = a.indptr[i] + threadIdx.x % 32; e < a.indptr[i + 1]; e += 32) {
    const int64 row_0 = base(a.indices[e] - i);
    if (row_0 != kNotStored) values[row_0 + i] = a.values[e];
  }
}

// A thread processes a row: it counts the entries that are on no stored diagonal, and then copies them.
template <class Base>
__global__ void __launch_bounds__(kBlock) count_outside(const Csr<float> a, const Base base, std::int64_t* counts) {
  const int64 i = thread_index();
  if (i >= a.rows) return;
  int64 count = 0;
  for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) count += base(a.indices[e] - i) == kNotStored;
  counts[i] = count;
}
template <class T, class Base>
__global__ void __launch_bounds__(kBlock)
    copy_outside(const Csr<T> a, const Base base, const std::int64_t* indptr, std::int32_t* indices, T* values) {
  const int64 i = thread_index();
  if (i >= a.rows) return;
  int64 to = indptr[i];
  for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
    if (base(a.indices[e] - i) != kNotStored) continue;
    indices[to] = a.indices[e];
    values[to++] = a.values[e];
  }
}

// A thread processes a row: it counts its nonzeros (out == nullptr) or writes them, by ascending column.
template <class T>
__global__ void __launch_bounds__(kBlock)
    gather_row(const Span* spans, int64 count, const T* values, bool conj, int64 rows, std::int64_t* counts,
               const std::int64_t* ends, std::int32_t* columns, T* out) {
  const int64 i = thread_index();
  if (i >= rows) return;
  int64 n = 0;
  const int64 begin = ends && i > 0 ? ends[i - 1] : 0;
  for (int64 d = 0; d < count; ++d) {
    const Span s = spans[d];
    if (i < s.row || i >= s.row + s.length) continue;
    const T value = values[s.start + i - s.row];
    if (is_zero(value)) continue;
    if (out) {
      columns[begin + n] = static_cast<std::int32_t>(i + s.offset);
      out[begin + n] = conjugate_if(conj, value);
    }
    ++n;
  }
  if (counts) counts[i] = n;
}

}  // namespace
}  // namespace cuda

using namespace cuda;

void add_diagonals(Scalar alpha, const Matrix& from, Op op, Matrix& to, bool accumulate) {
  const std::vector<Move> all = shared_diagonals(from, op, to);
  with_value_type(from.dtype, [&](auto s) {
    with_value_type(to.dtype, [&](auto t) {
      using S = decltype(s);
      using T = decltype(t);
      if constexpr (is_complex<T> || !is_complex<S>) {
        in_launches(all, [&](dim3 grid, const Runs<Move>& part, std::size_t) {
          launch("move diagonals", move_runs<S, T>, grid, dim3(kBlock), part, from.values.as<S>(), to.values.as<T>(),
                 Factor<T>(alpha), accumulate);
        });
      } else {
        throw std::invalid_argument(std::string("astype: ") + dtype_name(from.dtype) + " values do not fit " +
                                    dtype_name(to.dtype) + "; the imaginary parts would be lost");
      }
    });
  });
}

std::optional<int64> differing_diagonal(const Matrix& packed, const Matrix& full) {
  const std::vector<Move> all = shared_diagonals(packed, {}, full);
  const auto count = static_cast<int64>(all.size());
  const Scratch<int> differs(count);
  CUDA_CALL(cudaMemsetAsync(differs.get(), 0, count * sizeof(int), stream()));
  with_value_type(full.dtype, [&](auto zero) {
    using T = decltype(zero);
    in_launches(all, [&](dim3 grid, const Runs<Move>& part, std::size_t first) {
      launch("compare diagonals", compare_runs<T>, grid, dim3(kBlock), part, packed.values.as<const T>(),
             full.values.as<const T>(), packed.layout().packing.symmetry == Symmetry::hermitian, differs.get() + first);
    });
  });
  const std::vector<int> found = download(differs.get(), count);
  for (std::size_t d = 0; d < found.size(); ++d) {
    if (found[d]) return all[d].offset;
  }
  return std::nullopt;
}

void scatter_to_diagonals(const Matrix& csr, Matrix& to) {
  with_value_type(csr.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_starts(csr, to.layout(), [&](const auto& base) {
      launch("csr to diagonals", scatter_rows<T, std::decay_t<decltype(base)>>, blocks(csr.rows * 32), dim3(kBlock),
             Csr<T>::of(csr), base, to.values.as<T>());
    });
  });
}

Matrix entries_outside(const Matrix& m, const Layout& diagonals) {
  Array indptr = Array::zeros(DType::i64, {m.rows + 1}), indices, values;
  auto* const start = indptr.as<std::int64_t>();
  with_starts(m, diagonals, [&](const auto& base) {
    using Base = std::decay_t<decltype(base)>;
    launch("count outside", count_outside<Base>, blocks(m.rows), dim3(kBlock), Csr<float>::of(m), base, start + 1);
    const int64 count = inclusive_sum(start + 1, start + 1, m.rows);
    indices = Array::empty(DType::i32, {count});
    values = Array::empty(m.dtype, {count});
    with_value_type(m.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch("copy outside", copy_outside<T, Base>, blocks(m.rows), dim3(kBlock), Csr<T>::of(m), base, start,
             indices.as<std::int32_t>(), values.as<T>());
    });
  });
  return compressed(*common, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

Matrix csr_from_diagonals(const Matrix& a, Op op) {
  const std::vector<Span> spans = spans_of(a.layout(), op);
  const int64 rows = op.transposed ? a.cols : a.rows, cols = op.transposed ? a.rows : a.cols;
  check_shape(*common, rows, cols);
  const int64 count = static_cast<int64>(spans.size());
  const Array resident = upload(spans);
  Array indptr = Array::zeros(DType::i64, {rows + 1}), indices, result;
  auto* ends = indptr.as<std::int64_t>() + 1;
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto run = [&](std::int64_t* counts, const std::int64_t* at, std::int32_t* columns, T* values) {
      launch("diagonals to csr", gather_row<T>, blocks(rows), dim3(kBlock), resident.as<const Span>(), count,
             a.values.as<T>(), op.conjugated, rows, counts, at, columns, values);
    };
    run(ends, nullptr, nullptr, nullptr);
    const int64 nnz = inclusive_sum(ends, ends, rows);
    result = Array::empty(a.dtype, {nnz});
    indices = Array::empty(DType::i32, {nnz});
    if (nnz > 0) run(nullptr, ends, indices.as<std::int32_t>(), result.as<T>());
  });
  return compressed(*common, rows, cols, std::move(indices), std::move(indptr), std::move(result));
}

}  // namespace diagsparse
