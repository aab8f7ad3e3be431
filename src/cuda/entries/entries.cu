// Combines csr, csc and coo matrices element by element on the GPU, by sorted keys.
#include "core/convert.hpp"
#include "core/elementwise.hpp"
#include "device/bisection.cuh"
#include "device/faults.cuh"
#include "device/launch.cuh"
#include "entries/coordinates.cuh"
#include "entries/entries.hpp"
#include "entries/sorted_keys.cuh"
#include "formats/coo/layout.hpp"
#include "formats/csc/layout.hpp"

namespace diagsparse::cuda {

namespace {

template <class S, class T>
__global__ void __launch_bounds__(kBlock)
    scale_values(const S* from, int64 count, bool conj, const Factor<T> factor, T* to) {
  const int64 e = thread_index();
  if (e < count) to[e] = factor * convert<T>(conjugate_if(conj, from[e]));
}

// Combines the entries with the same key, of which e is the first; those of the second term have positions from
// `second` on. Returns whether the result is stored.
template <class T>
__device__ bool combine(const Key* keys, const int64* positions, const T* values, int64 e, int64 count, int64 second,
                        Combine how, bool zeros, T* out) {
  T value = values[positions[e]];
  int64 next = e + 1;
  const bool unmatched = how != Combine::sum && (next == count || keys[next] != keys[e]);
  if (unmatched) {
    value = positions[e] < second ? combined(how, value, T{}) : combined(how, T{}, value);
  } else {
    for (; next < count && keys[next] == keys[e]; ++next) value = combined(how, value, values[positions[next]]);
  }
  *out = value;
  return (zeros && !unmatched) || !is_zero(value);
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    mark_stored(const Key* keys, const int64* positions, const T* values, int64 count, int64 second, Combine how,
                bool zeros, std::int64_t* stored) {
  const int64 e = thread_index();
  if (e >= count) return;
  T value;
  const bool head = e == 0 || keys[e] != keys[e - 1];
  stored[e] = head && combine(keys, positions, values, e, count, second, how, zeros, &value);
}

// The key of entry e is written to position stored[e] - 1 of the result, where `stored` is the running count of stored
// entries.
template <class T>
__global__ void __launch_bounds__(kBlock)
    gather_stored(const Key* keys, const int64* positions, const T* values, int64 count, int64 second, Combine how,
                  bool zeros, const std::int64_t* stored, Key* out_keys, T* out_values) {
  const int64 e = thread_index();
  if (e >= count || stored[e] == (e == 0 ? 0 : stored[e - 1])) return;
  T value;
  combine(keys, positions, values, e, count, second, how, zeros, &value);
  out_keys[stored[e] - 1] = keys[e];
  out_values[stored[e] - 1] = value;
}

// A matrix with these sorted distinct keys.
Matrix over_keys(const EntryFormat& format, int64 rows, int64 cols, const Key* keys, Array values) {
  const int64 count = values.size();
  if (!format.pointers) {
    Array row = Array::empty(DType::i32, {count}), col = Array::empty(DType::i32, {count});
    split(keys, count, row.as<std::int32_t>(), col.as<std::int32_t>());
    std::vector<Part> parts{{"row", row}, {"col", col}};
    return {std::make_shared<const Indices>(format.name, rows, cols, std::move(parts), count), std::move(values)};
  }
  const SortedLines lines(keys, count, format.by_column ? cols : rows);
  return compressed(format, rows, cols, lines.indices, lines.indptr, std::move(values));
}

// The matrix with these keys and the values at their positions; those from `second` on are of the second term.
template <class T>
Matrix from_keys(const EntryFormat& format, int64 rows, int64 cols, Keys& keys, const T* values, int64 second,
                 Combine how, bool zeros) {
  sort(keys);
  const int64 n = keys.count;
  const Scratch<std::int64_t> stored(n);
  launch("mark stored", mark_stored<T>, blocks(n), dim3(kBlock), keys.key(), keys.position(), values, n, second, how,
         zeros, stored.get());
  const int64 count = inclusive_sum(stored.get(), stored.get(), n);
  const Scratch<Key> distinct(count);
  Array built = Array::empty(dtype_of<T>(), {count});
  launch("gather runs", gather_stored<T>, blocks(n), dim3(kBlock), keys.key(), keys.position(), values, n, second, how,
         zeros, stored.get(), distinct.get(), built.as<T>());
  if (is_comparison(how)) {
    built = Array::empty(DType::u8, {count});
    CUDA_CALL(cudaMemsetAsync(built.data, 1, count, stream()));
  }
  return over_keys(format, rows, cols, distinct.get(), built);
}

}  // namespace

namespace {

// Keys of entries that have not been validated. *invalid = 1 if an index is out of range.
template <class I>
__global__ void __launch_bounds__(kBlock)
    read_entries(const I* first, const I* second, int64 count, bool pointers, int64 lines, int64 major_extent,
                 int64 minor_extent, bool swap, Key* keys, int64* positions, int* invalid) {
  const int64 e = thread_index();
  if (e >= count) return;
  int64 major = 0, minor = 0;
  if (pointers) {  // second: where each line begins, first: the index in it
    major = bisect(1, lines, [&](int64 line) { return second[line] <= e; }) - 1;
    minor = first[e];
  } else {
    major = first[e];
    minor = second[e];
  }
  if (major < 0 || major >= major_extent || minor < 0 || minor >= minor_extent) *invalid = 1;
  keys[e] = swap ? make_key(minor, major) : make_key(major, minor);
  positions[e] = e;
}

}  // namespace

Matrix matrix_from_entries(const std::string& format, int64 rows, int64 cols, const DeviceArray& values,
                           const DeviceArray& first, const DeviceArray& second, const std::string& layout) {
  const EntryFormat &built = entry_format(format), &given = entry_format(layout);
  const auto contiguous_copy = [](const DeviceArray& a, DType dtype) {
    DeviceArray copy = DeviceArray::empty(dtype, a.shape);
    assign(a, copy);
    return copy;
  };
  const int64 count = values.size();
  const bool pointers = given.pointers, by_column = given.by_column;
  const int64 lines = by_column ? cols : rows;
  const auto fail = [&](const std::string& why) { throw std::invalid_argument(format + "_array: " + why); };
  if (first.size() != count)
    fail("there are " + std::to_string(count) + " values and " + std::to_string(first.size()) + " indices");
  if (second.size() != (pointers ? lines + 1 : count)) fail("the index arrays do not fit each other");
  const DeviceArray a = contiguous_copy(first, DType::i64), b = contiguous_copy(second, DType::i64),
                    v = contiguous_copy(values, values.dtype);
  const auto *x = reinterpret_cast<const int64*>(a.data), *y = reinterpret_cast<const int64*>(b.data);
  const Scratch<int> invalid(1);
  CUDA_CALL(cudaMemsetAsync(invalid.get(), 0, sizeof(int), stream()));
  if (pointers && fault_in_pointers(y, lines, count).kind != Fault::none) {
    fail("indptr does not rise from 0 to " + std::to_string(count));
  }
  Keys keys(count);
  launch("read entries", read_entries<int64>, blocks(count), dim3(kBlock), x, y, count, pointers, lines,
         by_column ? cols : rows, by_column ? rows : cols, by_column != built.by_column, keys.key(), keys.position(),
         invalid.get());
  if (download(invalid.get(), 1)[0]) {
    fail("indices lie outside of a " + std::to_string(rows) + " x " + std::to_string(cols) + " matrix");
  }
  return with_value_type(v.dtype, [&](auto zero) {
    using T = decltype(zero);
    return from_keys(built, rows, cols, keys, reinterpret_cast<const T*>(v.data), count, Combine::sum, true);
  });
}

}  // namespace diagsparse::cuda

namespace diagsparse {

Matrix combine_entries(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                       DType dtype) {
  using namespace cuda;
  const auto& result = static_cast<const EntryFormat&>(format);
  const int64 rows = terms.front().rows(), cols = terms.front().cols();
  int64 total = 0;
  for (const ScaledMatrix& t : terms) total += t.matrix->values.size();
  Keys keys(total);
  return with_value_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    const Scratch<T> values(total);
    int64 first = 0;
    for (const ScaledMatrix& t : terms) {
      const int64 count = t.matrix->values.size();
      write_keys(*t.matrix, t.op, result.by_column, first, keys);
      with_value_type(t.matrix->dtype, [&](auto s) {
        using S = decltype(s);
        if constexpr (is_complex<T> || !is_complex<S>) {
          launch("scale values", scale_values<S, T>, blocks(count), dim3(kBlock), t.matrix->values.as<S>(), count,
                 t.op.conjugated, Factor<T>(t.factor), values.get() + first);
        } else {
          throw std::invalid_argument("complex values do not fit a real matrix");
        }
      });
      first += count;
    }
    const int64 second = terms.front().matrix->values.size();
    return cuda::from_keys(result, rows, cols, keys, values.get(), second, how, zeros);
  });
}

Matrix convert_entries(const Matrix& a, Op op, const Format& format) {
  return combine_entries(format, {{&a, op, 1.0}}, Combine::sum, true, a.dtype);
}

namespace cuda {
namespace {

// A thread processes a row: it counts the entries beyond the first `width`, and then copies them.
__global__ void __launch_bounds__(kBlock)
    count_rest(const std::int64_t* indptr, int64 rows, int64 width, std::int64_t* counts) {
  const int64 i = thread_index();
  if (i < rows) counts[i] = max(int64{0}, indptr[i + 1] - indptr[i] - width);
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    copy_rest(const Csr<T> a, const std::int64_t* indptr, std::int32_t* indices, T* values) {
  const int64 i = thread_index();
  if (i >= a.rows) return;
  int64 from = a.indptr[i + 1] - (indptr[i + 1] - indptr[i]);
  for (int64 to = indptr[i]; to < indptr[i + 1]; ++to, ++from) {
    indices[to] = a.indices[from];
    values[to] = a.values[from];
  }
}

}  // namespace
}  // namespace cuda

Matrix rest_of_rows(const Matrix& m, int64 width) {
  using namespace cuda;
  Array indptr = Array::zeros(DType::i64, {m.rows + 1});
  auto* start = indptr.as<std::int64_t>();
  launch("count rest", count_rest, blocks(m.rows), dim3(kBlock), m.index("indptr").as<std::int64_t>(), m.rows, width,
         start + 1);
  const int64 count = inclusive_sum(start + 1, start + 1, m.rows);
  Array indices = Array::empty(DType::i32, {count}), values = Array::empty(m.dtype, {count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("copy rest", copy_rest<T>, blocks(m.rows), dim3(kBlock), Csr<T>::of(m), start, indices.as<std::int32_t>(),
           values.as<T>());
  });
  return compressed(csr, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

}  // namespace diagsparse
