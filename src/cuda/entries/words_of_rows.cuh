// The columns of each row of B as words of 32 columns, which are marked faster than column by column if many rows of A
// refer to a row of B.
#pragma once

#include "entries/row_ranges.cuh"

namespace diagsparse::cuda::columns_of_product {

// The columns 32 index + k of a row for each bit k.
struct Word {
  std::int32_t index;
  unsigned bits;
};

// Row k consists of counts[k] words from words + indptr[k] on, where indptr belongs to B. Null if they are not listed.
struct WordsOfRows {
  const Word* words = nullptr;
  const std::int32_t* counts = nullptr;
};

// A warp processes a row, 32 entries at once.
static __global__ void __launch_bounds__(kBlock) list_words(const Csr<float> b, Word* words, std::int32_t* counts) {
  const int64 k = thread_index() / 32;
  const int lane = threadIdx.x % 32;
  if (k >= b.rows) return;
  const int64 begin = b.indptr[k], end = b.indptr[k + 1];
  Word* const row = words + begin;
  int count = 0, last = -1;  // words so far, and the index of the last one
  for (int64 f = begin; f < end; f += 32) {
    const bool inside = f + lane < end;
    const unsigned column = inside ? b.indices[f + lane] : 0;
    const int index = inside ? static_cast<int>(column / 32) : -2;
    unsigned bits = 1u << column % 32;
    for (int step = 1; step < 32; step *= 2) {  // the bits of the lanes up to this one that have the same index
      const unsigned of_lane = __shfl_up_sync(kAllLanes, bits, step);
      const int index_of_lane = __shfl_up_sync(kAllLanes, index, step);
      if (lane >= step && index_of_lane == index) bits |= of_lane;
    }
    const int before = __shfl_up_sync(kAllLanes, index, 1), after = __shfl_down_sync(kAllLanes, index, 1);
    const unsigned begins = __ballot_sync(kAllLanes, inside && index != (lane == 0 ? last : before));
    const int at = count + __popc(begins & (kAllLanes >> (31 - lane))) - 1;
    if (inside && (lane == 31 || index != after)) {
      if (at < count) row[at].bits |= bits;  // it began with the previous entries
      else row[at] = {index, bits};
    }
    count += __popc(begins);
    last = __shfl_sync(kAllLanes, index, static_cast<int>(min(int64{32}, end - f)) - 1);
    __syncwarp();
  }
  if (lane == 0) counts[k] = count;
}

}  // namespace diagsparse::cuda::columns_of_product
