// The structure of C = A B for csr on the device. The columns of each row are marked or sorted (marked_rows.cuh); if
// that would take too long, the coordinates of all products are listed and sorted, and duplicates are dropped.
#include "core/plan.hpp"
#include "entries/marked_rows.cuh"
#include "entries/row_products.cuh"

namespace diagsparse {

namespace cuda {
namespace {

// A thread processes a product of a range and writes (row - first_row, column of B).
__global__ void __launch_bounds__(kBlock)
    write_coordinates(const RowProducts products, const RowRange range, Key* keys) {
  const int64 t = thread_index();
  if (t >= range.count) return;
  const auto p = products.at(range.first + t, range.first_row);
  keys[t] = make_key(p.row - range.first_row, products.b.indices[p.right]);
}

__global__ void __launch_bounds__(kBlock) mark_heads(const Key* keys, int64 count, std::int64_t* heads) {
  const int64 e = thread_index();
  if (e < count) heads[e] = e == 0 || keys[e] != keys[e - 1];
}

// Writes the columns of the distinct keys, and counts them in each row.
__global__ void __launch_bounds__(kBlock)
    write_heads(const Key* keys, int64 count, const std::int64_t* positions, std::int32_t* columns, int64 first_row,
                unsigned long long* in_row) {
  const int64 e = thread_index();
  if (e >= count || (e > 0 && keys[e] == keys[e - 1])) return;
  columns[positions[e] - 1] = static_cast<std::int32_t>(keys[e] & 0xffffffffu);
  atomicAdd(in_row + first_row + (keys[e] >> 32), 1ull);
}

Array joined(const std::vector<Array>& parts) {
  if (parts.size() == 1) return parts.front();
  int64 count = 0;
  for (const Array& part : parts) count += part.size();
  Array result = Array::empty(DType::i32, {count});
  std::int32_t* to = result.as<std::int32_t>();
  for (const Array& part : parts) {
    CUDA_CALL(cudaMemcpyAsync(to, part.data, part.nbytes(), cudaMemcpyDeviceToDevice, stream()));
    to += part.size();
  }
  return result;
}

}  // namespace
}  // namespace cuda

using namespace cuda;

RowsOfProduct product_rows(const Matrix& left, const Matrix& right) {
  MarkedRows marked(Csr<float>::of(left), Csr<float>::of(right), right.structure->stored());
  if (marked.is_faster()) return marked.rows();
  const ProductList list(*left.structure, *right.structure);
  Array indptr = Array::zeros(DType::i64, {left.rows + 1});
  auto* in_row = reinterpret_cast<unsigned long long*>(indptr.as<std::int64_t>() + 1);
  std::vector<Array> parts;
  for (const RowRange& range : list.ranges()) {
    std::shared_ptr<void> keys = allocate(8 * range.count);
    launch("write coordinates", write_coordinates, blocks(range.count), dim3(kBlock), list.on_device(), range,
           static_cast<Key*>(keys.get()));
    sort_keys(keys, range.count, 32 + width_in_bits(range.end_row - range.first_row));
    const Scratch<std::int64_t> heads(range.count);
    const auto* sorted = static_cast<const Key*>(keys.get());
    launch("mark heads", mark_heads, blocks(range.count), dim3(kBlock), sorted, range.count, heads.get());
    const int64 distinct = inclusive_sum(heads.get(), heads.get(), range.count);
    parts.push_back(Array::empty(DType::i32, {distinct}));
    launch("write heads", write_heads, blocks(range.count), dim3(kBlock), sorted, range.count, heads.get(),
           parts.back().as<std::int32_t>(), range.first_row, in_row);
  }
  inclusive_sum(indptr.as<std::int64_t>(), indptr.as<std::int64_t>(), left.rows + 1);
  const Array indices = joined(parts);
  CUDA_CALL(cudaStreamSynchronize(stream()));  // because the plan may run in any stream
  std::vector<Part> arrays{{"indices", indices}, {"indptr", indptr}};
  return {std::make_shared<const Indices>(common->name, left.rows, right.cols, std::move(arrays), indices.size()),
          list.total()};
}

}  // namespace diagsparse
