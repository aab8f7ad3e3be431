// The rest of op(A), rows of coosr, in the form in which the kernels of diagonals add it (matvec/rest.cuh).
#pragma once

#include "device/dense.cuh"
#include "device/resident.cuh"
#include "formats/qband/products.hpp"
#include "kernels/matvec/packets.cuh"
#include "kernels/rows/rows.cuh"

namespace diagsparse::cuda::qband {

// The rest as a csr matrix without values, for callers that need only its structure.
Matrix structure_of_rest(const QuasiBand& a);

constexpr int kLong = 128;    // entries; a longer row is summed beforehand in chunks, by thread blocks
constexpr int kChunk = 2048;  // entries of a chunk

// The rows of the rest of op(A), and the long ones with their chunks.
struct ResidentRest {
  RowIndex index;
  Array rows;    // int32, ascending: the long ones
  Array chunks;  // int32 (rows + 1): where the chunks of each begin
  int64 count = 0, chunk_count = 0;

  auto arrays() const { return std::tie(rows, chunks); }
};
std::shared_ptr<ResidentRest> resident_rest(const QuasiBand& a);  // cached with A

template <class U, class V>
struct RestRows {
  using T = Product<U, V>;

  rows::Rows<U> a;
  bool conj;
  const std::int32_t *long_rows, *chunks;
  std::int32_t count;  // number of long rows
  const T* sums;       // sums of their chunks, one column after another
  int64 chunk_count;

  __device__ void add(int64 i, int64 c, T& sum, const V* x, int64 row, int part = 0, int parts = 1) const {
    T packet[1]{sum};
    add_to<1>(i, c, packet, part, parts, [&](int64 j, V(&out)[1]) { out[0] = load(x + j * row); });
    sum = packet[0];
  }
  template <int Width>
  __device__ void add_packet(int64 i, int64 column, T (&of_row)[Width], const Block<const V>& x) const {
    add_to<Width>(i, column, of_row, 0, 1, [&](int64 j, V(&out)[Width]) {
      const uint4 packet = __ldg(reinterpret_cast<const uint4*>(x.data + j * x.row + column));
      memcpy(out, &packet, sizeof out);
    });
  }

 private:
  template <int Width, class Fetch>
  __device__ void add_to(int64 i, int64 column, T (&of_row)[Width], int part, int parts, const Fetch& fetch) const {
    const int64 begin = a.indptr[i], end = a.indptr[i + 1];
    if (end - begin > kLong) return part == 0 ? add_chunks(i, column, of_row) : void();
#pragma unroll 2
    for (int64 e = begin + part; e < end; e += parts) {
      V of_x[Width];
      fetch(a.indices[e], of_x);
      const U value = conjugate_if(conj, a.value(e));
#pragma unroll
      for (int c = 0; c < Width; ++c) of_row[c] += multiply(value, of_x[c]);
    }
  }
  template <int Width>
  __device__ void add_chunks(int64 i, int64 column, T (&of_row)[Width]) const {
    const int64 r = bisect(0, count, [&](int64 k) { return long_rows[k] < i; });
    for (std::int32_t k = chunks[r]; k < chunks[r + 1]; ++k) {
#pragma unroll
      for (int c = 0; c < Width; ++c) of_row[c] += sums[(column + c) * chunk_count + k];
    }
  }
};

}  // namespace diagsparse::cuda::qband
