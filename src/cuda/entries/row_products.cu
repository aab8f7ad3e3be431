// Counts the products of each row of a csr product.
#include "entries/row_products.cuh"

namespace diagsparse::cuda {

namespace {

// The number of products of entry e of A: the length of its row of B.
__global__ void __launch_bounds__(kBlock)
    count_products(const std::int32_t* a_indices, int64 nnz, const int64* b_indptr, std::int64_t* counts) {
  const int64 e = thread_index();
  if (e < nnz) counts[e] = b_indptr[a_indices[e] + 1] - b_indptr[a_indices[e]];
}

// The number of products up to the end of each row of A.
__global__ void __launch_bounds__(kBlock)
    row_ends(const int64* indptr, int64 rows, const std::int64_t* ends, std::int64_t* out) {
  const int64 i = thread_index();
  if (i < rows) out[i] = indptr[i + 1] == 0 ? 0 : ends[indptr[i + 1] - 1];
}

Csr<float> view(const Structure& s) {
  const auto& indices = static_cast<const Indices&>(s);
  return {s.rows, s.cols, indices.at("indptr").as<int64>(), indices.at("indices").as<std::int32_t>(), nullptr};
}

}  // namespace

ProductList::ProductList(const Structure& a, const Structure& b) : a_(view(a)), b_(view(b)), ends_(a.stored()) {
  const int64 nnz = a.stored();
  launch("count products", count_products, blocks(nnz), dim3(kBlock), a_.indices, nnz, b_.indptr, ends_.get());
  total_ = inclusive_sum(ends_.get(), ends_.get(), nnz);
}

std::vector<RowRange> ProductList::ranges() const {
  if (total_ == 0) return {};
  if (total_ <= kProducts) return {{0, a_.rows, 0, total_}};
  const Scratch<std::int64_t> by_row(a_.rows);
  launch("row ends", row_ends, blocks(a_.rows), dim3(kBlock), a_.indptr, a_.rows, ends_.get(), by_row.get());
  const std::vector<std::int64_t> rows = download(static_cast<const std::int64_t*>(by_row.get()), a_.rows);
  std::vector<RowRange> result;
  for (int64 first_row = 0, first = 0; first < total_;) {
    const auto fits = std::upper_bound(rows.begin() + first_row, rows.end(), first + kProducts) - rows.begin();
    const int64 end_row = std::max<int64>(fits, first_row + 1);
    result.push_back({first_row, end_row, first, rows[end_row - 1] - first});
    first_row = end_row;
    first = rows[end_row - 1];
  }
  return result;
}

}  // namespace diagsparse::cuda
