// The coordinates of the entries of csr, csc and coo, and an index of their rows.
#include "device/bisection.cuh"
#include "device/resident.cuh"
#include "entries/coordinates.cuh"
#include "formats/coo/layout.hpp"
#include "formats/csc/layout.hpp"

namespace diagsparse::cuda {

namespace {

__global__ void __launch_bounds__(kBlock)
    write_entry_keys(const Coordinates from, int64 count, bool by_column, int64 first, Key* keys, int64* positions) {
  const int64 e = thread_index();
  if (e >= count) return;
  const int64 i = from.row_of(e), j = from.col_of(e);
  keys[e] = by_column ? make_key(j, i) : make_key(i, j);
  positions[e] = first + e;
}

__global__ void __launch_bounds__(kBlock)
    split_keys(const Key* keys, int64 count, std::int32_t* major, std::int32_t* minor) {
  const int64 e = thread_index();
  if (e >= count) return;
  if (major) major[e] = static_cast<std::int32_t>(keys[e] >> 32);
  minor[e] = static_cast<std::int32_t>(keys[e] & 0xffffffffu);
}

// pointers[line] = the number of keys before the line
__global__ void __launch_bounds__(kBlock)
    point_lines(const Key* keys, int64 count, std::int64_t* pointers, int64 lines) {
  const int64 line = thread_index();
  if (line > lines) return;
  const Key wanted = make_key(line, 0);
  pointers[line] = bisect(0, count, [&](int64 e) { return keys[e] < wanted; });
}

}  // namespace

void write_keys(const Matrix& a, Op op, bool by_column, int64 first, const Keys& keys) {
  const int64 count = a.values.size();
  launch("write keys", write_entry_keys, blocks(count), dim3(kBlock), Coordinates::of(a, op), count, by_column, first,
         keys.key() + first, keys.position() + first);
}

void split(const Key* keys, int64 count, std::int32_t* major, std::int32_t* minor) {
  launch("split keys", split_keys, blocks(count), dim3(kBlock), keys, count, major, minor);
}

SortedLines::SortedLines(const Key* keys, int64 count, int64 lines)
    : indptr(Array::empty(DType::i64, {lines + 1})), indices(Array::empty(DType::i32, {count})) {
  split(keys, count, nullptr, indices.as<std::int32_t>());
  launch("point lines", point_lines, blocks(lines + 1), dim3(kBlock), keys, count, indptr.as<std::int64_t>(), lines);
}

namespace {

struct ResidentIndex {
  Array indptr, indices, positions;

  auto arrays() const { return std::tie(indptr, indices, positions); }
};

std::shared_ptr<ResidentIndex> by_keys(const Matrix& a, bool transposed) {
  Keys keys(a.values.size());
  write_keys(a, {transposed, false}, false, 0, keys);
  const bool in_order = a.format == coo.name && !transposed;
  Array positions;
  if (!in_order) {
    sort(keys);
    positions.data = keys.positions.get();
    positions.owner = keys.positions;
  }
  const SortedLines lines(keys.key(), keys.count, transposed ? a.cols : a.rows);
  return std::make_shared<ResidentIndex>(ResidentIndex{lines.indptr, lines.indices, positions});
}

__global__ void __launch_bounds__(kBlock) count_up(double* numbers, int64 count) {
  const int64 e = thread_index();
  if (e < count) numbers[e] = static_cast<double>(e + 1);
}

__global__ void __launch_bounds__(kBlock) to_positions(const double* numbers, int64 count, std::int64_t* positions) {
  const int64 e = thread_index();
  if (e < count) positions[e] = static_cast<std::int64_t>(numbers[e]) - 1;
}

// For any format: converts a matrix whose values are the positions of the values to csr. Positions count from 1,
// because the conversion may drop zeros.
std::shared_ptr<ResidentIndex> by_conversion(const Matrix& a, bool transposed) {
  Array numbers = Array::empty(DType::f64, a.structure->values_shape);
  launch("count up", count_up, blocks(numbers.size()), dim3(kBlock), numbers.as<double>(), numbers.size());
  const Matrix rows = format_of(a.format).to_csr({a.structure, numbers}, {transposed, false});
  const int64 count = rows.values.size();
  const Array positions = Array::empty(DType::i64, {count});
  launch("to positions", to_positions, blocks(count), dim3(kBlock), rows.values.as<double>(), count,
         positions.as<std::int64_t>());
  return std::make_shared<ResidentIndex>(ResidentIndex{rows.index("indptr"), rows.index("indices"), positions});
}

}  // namespace

RowIndex rows_of(const Matrix& a, bool transposed) {
  if (a.format == (transposed ? csc : csr).name) {
    return {a.index("indptr").as<std::int64_t>(), a.index("indices").as<std::int32_t>(), nullptr, nullptr};
  }
  // csr and the csc of its transpose share a cache, because the index that both lack is the same.
  const bool compressed = a.format == csr.name || a.format == csc.name;
  const char* key = compressed ? "crossed lines" : transposed ? "columns" : "rows";
  const auto result = cached<ResidentIndex>(a.cache(), key, [&] {
    return compressed || a.format == coo.name ? by_keys(a, transposed) : by_conversion(a, transposed);
  });
  return {result->indptr.as<std::int64_t>(), result->indices.as<std::int32_t>(),
          result->positions.as<const std::int64_t>(), result};
}

}  // namespace diagsparse::cuda
