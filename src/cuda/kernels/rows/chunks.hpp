// Chunks of equal work on the rows of a matrix.
//
// The work is a list of nnz + m steps, "add entry e" and "end row i", merged in order (Merrill and Garland,
// "Merge-based parallel sparse matrix-vector multiplication", SC16); row i begins at step indptr[i] + i:
//
//     indptr   0     2                 7  7     8
//     steps    e0 e1 r0 e2 e3 e4 e5 e6 r1 r2 e7 r3
//              |--- chunk 0 ----|--- chunk 1 ----|
//
// Chunks of complete rows consist of the rows that begin in their steps, so they extend to the end of the last one.
// There an entry counts as kEntry steps, because the end of a row costs less than an entry, and the entries have to fit
// into shared memory.
#pragma once

#include <tuple>

#include "core/matrix.hpp"

namespace diagsparse::cuda::rows {

// The first row of a chunk, and the entry where this row begins.
struct alignas(16) ChunkStart {
  std::int64_t row, entry;
};

struct ResidentChunks {
  Array first;  // a ChunkStart for each, and one for the end of the last chunk
  int64 count = 0;
  int64 longest = 0;  // entries of the longest row

  const ChunkStart* starts() const { return first.as<const ChunkStart>(); }
  auto arrays() const { return std::tie(first); }
};

// Chunks of `steps` steps of the rows of op(A); cached with A.
std::shared_ptr<ResidentChunks> chunks_of_steps(const Matrix& a, Op op, int steps);

// Chunks of complete rows with at most `entries` entries. Only the last row of a chunk may be too long; without it the
// chunk has at most as many entries. Matrices with few entries have smaller chunks. Cached with A.
std::shared_ptr<ResidentChunks> chunks_of_rows(const Matrix& a, Op op, int entries);

// The same for `rows` rows with these pointers, which have `entries` entries in total; at most `most` in a chunk.
std::shared_ptr<ResidentChunks> chunks_of_pointers(const std::int64_t* indptr, int64 rows, int64 entries, int most);

// The number of entries of the longest of the rows with these pointers.
int64 longest_of(const std::int64_t* indptr, int64 rows);

}  // namespace diagsparse::cuda::rows
