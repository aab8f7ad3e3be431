// sell on the CPU: computation and validation of slices.
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "cpu/parallel.hpp"
#include "formats/sell/layout.hpp"
#include "layouts/cpu_rows.hpp"

namespace diagsparse {

namespace {

const int64* row_pointers(const Matrix& csr) { return csr.index("indptr").as<int64>(); }

}  // namespace

int64 compute_slice_indptr(const Matrix& csr, int64 height, const std::int32_t* row_order, int64* slice_indptr) {
  const int64* start = row_pointers(csr);
  slice_indptr[0] = 0;
  const int64 slices = slices_of(csr.rows, height);
  for_stored_rows(slices, csr.rows, [&](int64 s) {
    int64 longest = 0;
    for (int64 p = s * height; p < std::min(csr.rows, (s + 1) * height); ++p) {
      const int64 i = row_order ? row_order[p] : p;
      longest = std::max(longest, start[i + 1] - start[i]);
    }
    slice_indptr[s + 1] = longest * height;
  });
  std::partial_sum(slice_indptr, slice_indptr + slices + 1, slice_indptr);
  return slice_indptr[slices];
}

Fault fault_in_slices(const Sell<float>& a, int64 positions) {
  for (int64 s = 0; s <= a.slices; ++s) {
    const int64 at = a.slice_indptr[s], before = s > 0 ? a.slice_indptr[s - 1] : 0;
    if (at < before || at > positions || at % a.height != 0 || (s == 0 && at != 0)) return {Fault::pointers, s};
  }
  return a.slice_indptr[a.slices] == positions ? Fault{} : Fault{Fault::pointers, a.slices};
}

template struct StoredRows<Sell>;

}  // namespace diagsparse
