// Sorts rows by their lengths on the GPU.
#include "entries/sorted_keys.cuh"
#include "layouts/rows.hpp"

namespace diagsparse {

namespace cuda {

namespace {

// When sorted by these keys, the rows of a window stay together, longest first.
__global__ void __launch_bounds__(kBlock)
    write_length_keys(const std::int64_t* indptr, int64 rows, int64 window, Key* keys, int64* numbers) {
  const int64 i = thread_index();
  if (i >= rows) return;
  keys[i] = make_key(i / window, 0x7fffffff - (indptr[i + 1] - indptr[i]));
  numbers[i] = i;
}

__global__ void __launch_bounds__(kBlock) narrow(const int64* numbers, int64 count, std::int32_t* order) {
  const int64 p = thread_index();
  if (p < count) order[p] = static_cast<std::int32_t>(numbers[p]);
}

}  // namespace

}  // namespace cuda

using namespace cuda;

Array rows_by_length(const Matrix& csr, int64 window) {
  Keys keys(csr.rows);
  launch("write length keys", write_length_keys, blocks(csr.rows), dim3(kBlock), csr.index("indptr").as<std::int64_t>(),
         csr.rows, window, keys.key(), keys.position());
  sort(keys);
  Array rows = Array::empty(DType::i32, {csr.rows});
  launch("narrow", narrow, blocks(csr.rows), dim3(kBlock), keys.position(), csr.rows, rows.as<std::int32_t>());
  return rows;
}

}  // namespace diagsparse
