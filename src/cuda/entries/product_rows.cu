// The structure of C = A B for csr on the device: expand the products' places, sort them, keep the distinct ones.
#include "core/plan.hpp"
#include "device/bisection.cuh"
#include "device/launch.cuh"
#include "entries/sorted_keys.cuh"
#include "formats/csr.hpp"

namespace diagsparse {

namespace cuda {
namespace {

constexpr int64 kProducts = 1 << 26;  // expanded at once: 16 bytes each

// How many products entry e of A has a part in: the length of its row of B.
__global__ void __launch_bounds__(kBlock)
    count_products(const std::int32_t* a_indices, int64 nnz, const int64* b_indptr, std::int64_t* counts) {
  const int64 e = thread_index();
  if (e < nnz) counts[e] = b_indptr[a_indices[e] + 1] - b_indptr[a_indices[e]];
}

// Products up to the end of each row of A; ends[e] counts those up to entry e.
__global__ void __launch_bounds__(kBlock)
    row_ends(const int64* indptr, int64 rows, const std::int64_t* ends, std::int64_t* out) {
  const int64 i = thread_index();
  if (i < rows) out[i] = indptr[i + 1] == 0 ? 0 : ends[indptr[i + 1] - 1];
}

// A thread takes a product p of rows [first_row, ...): finds its entry of A and writes (row - first_row, column of B).
__global__ void __launch_bounds__(kBlock) expand(const Csr<float> a, const Csr<float> b, const std::int64_t* ends,
                                                 int64 first_row, int64 first, int64 count, Key* keys) {
  const int64 t = thread_index();
  if (t >= count) return;
  const int64 p = first + t;
  // The first entry whose products end after p, and its row.
  const int64 entry = bisect(0, a.indptr[a.rows], [&](int64 e) { return ends[e] <= p; });
  const int64 row = bisect(first_row + 1, a.rows, [&](int64 i) { return a.indptr[i] <= entry; }) - 1;
  const std::int32_t k = a.indices[entry];
  const int64 nth = p - (entry == 0 ? 0 : ends[entry - 1]);
  keys[t] = make_key(row - first_row, b.indices[b.indptr[k] + nth]);
}

__global__ void __launch_bounds__(kBlock) mark_heads(const Key* keys, int64 count, std::int64_t* heads) {
  const int64 e = thread_index();
  if (e < count) heads[e] = e == 0 || keys[e] != keys[e - 1];
}

// The distinct keys' columns, and how many lie in each row.
__global__ void __launch_bounds__(kBlock)
    take_heads(const Key* keys, int64 count, const std::int64_t* places, std::int32_t* columns, int64 first_row,
               unsigned long long* in_row) {
  const int64 e = thread_index();
  if (e >= count || (e > 0 && keys[e] == keys[e - 1])) return;
  columns[places[e] - 1] = static_cast<std::int32_t>(keys[e] & 0xffffffffu);
  atomicAdd(in_row + first_row + (keys[e] >> 32), 1ull);
}

int width_in_bits(int64 n) {
  int bits = 1;
  while (n >> bits) ++bits;
  return bits;
}

struct ProductRows {
  Array indptr, indices;
};

ProductRows rows_of_product(const Csr<float>& a, const Csr<float>& b, int64 nnz) {
  ProductRows made{Array::zeros(DType::i64, {a.rows + 1}), {}};
  const Scratch<std::int64_t> ends(nnz), by_row(a.rows);
  launch("count products", count_products, blocks(nnz), dim3(kBlock), a.indices, nnz, b.indptr, ends.get());
  const int64 total = inclusive_sum(ends.get(), ends.get(), nnz);
  launch("row ends", row_ends, blocks(a.rows), dim3(kBlock), a.indptr, a.rows, ends.get(), by_row.get());
  const std::vector<std::int64_t> rows = total <= kProducts
                                             ? std::vector<std::int64_t>()
                                             : download(static_cast<const std::int64_t*>(by_row.get()), a.rows);
  auto* in_row = reinterpret_cast<unsigned long long*>(made.indptr.as<std::int64_t>() + 1);
  std::vector<Array> parts;
  for (int64 first_row = 0, first = 0; first < total;) {
    int64 end_row = a.rows, end = total;
    if (!rows.empty()) {
      end_row = std::upper_bound(rows.begin() + first_row, rows.end(), first + kProducts) - rows.begin();
      end_row = std::max(end_row, first_row + 1);
      end = rows[end_row - 1];
    }
    const int64 count = end - first;
    std::shared_ptr<void> keys = allocate(8 * count);
    launch("expand", expand, blocks(count), dim3(kBlock), a, b, ends.get(), first_row, first, count,
           static_cast<Key*>(keys.get()));
    sort_keys(keys, count, 32 + width_in_bits(end_row - first_row));
    const Scratch<std::int64_t> heads(count);
    const auto* sorted = static_cast<const Key*>(keys.get());
    launch("mark heads", mark_heads, blocks(count), dim3(kBlock), sorted, count, heads.get());
    const int64 distinct = inclusive_sum(heads.get(), heads.get(), count);
    parts.push_back(Array::empty(DType::i32, {distinct}));
    launch("take heads", take_heads, blocks(count), dim3(kBlock), sorted, count, heads.get(),
           parts.back().as<std::int32_t>(), first_row, in_row);
    first_row = end_row;
    first = end;
  }
  inclusive_sum(made.indptr.as<std::int64_t>(), made.indptr.as<std::int64_t>(), a.rows + 1);
  if (parts.size() == 1) {
    made.indices = parts.front();
    return made;
  }
  int64 nnz_c = 0;
  for (const Array& part : parts) nnz_c += part.size();
  made.indices = Array::empty(DType::i32, {nnz_c});
  std::int32_t* to = made.indices.as<std::int32_t>();
  for (const Array& part : parts) {
    CUDA_CALL(cudaMemcpyAsync(to, part.data, part.nbytes(), cudaMemcpyDeviceToDevice, stream()));
    to += part.size();
  }
  return made;
}

}  // namespace
}  // namespace cuda

std::shared_ptr<const Indices> product_rows(const Matrix& left, const Matrix& right) {
  const auto view = [](const Matrix& m) {
    return Csr<float>{m.rows, m.cols, m.index("indptr").as<int64>(), m.index("indices").as<std::int32_t>(), nullptr};
  };
  cuda::ProductRows made = cuda::rows_of_product(view(left), view(right), left.values.size());
  std::vector<Part> parts{{"indices", made.indices}, {"indptr", made.indptr}};
  return std::make_shared<const Indices>(csr.name, left.rows, right.cols, std::move(parts), made.indices.size());
}

}  // namespace diagsparse
