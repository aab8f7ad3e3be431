// Narrow columns on the GPU: a warp processes a chunk, and a lane a position.
#include "core/columns.hpp"
#include "device/faults.cuh"
#include "device/lanes.cuh"

namespace diagsparse {

namespace cuda {

namespace {

// The position of this warp's chunk: lines of `length` positions are divided into chunks.
struct Chunk {
  int64 number, position;
  bool within;  // whether this lane has a position in it

  __device__ Chunk(int64 length, int64 of_line) {
    number = thread_index() / kChunk;
    const int64 at = number % of_line * kChunk + threadIdx.x % kChunk;
    position = number / of_line * length + at;
    within = at < length;
  }
};

template <class I>
__global__ void __launch_bounds__(kBlock)
    shorten_chunks(const std::int32_t* columns, int64 length, int64 of_line, int64 count, I* indices,
                   std::int32_t* bases, int64 reach, Position* unfit) {
  const Chunk chunk(length, of_line);
  if (chunk.number >= count) return;
  const std::int32_t column = chunk.within ? columns[chunk.position] : -1;
  const std::int32_t low = __reduce_min_sync(~0u, column < 0 ? 0x7fffffff : column);
  const std::int32_t high = __reduce_max_sync(~0u, column), base = bases && high >= 0 ? low : 0;
  if (bases && threadIdx.x % kChunk == 0) bases[chunk.number] = base;
  if (high - base > reach) return report(unfit, chunk.number);
  if (chunk.within) indices[chunk.position] = static_cast<I>(column < 0 ? -1 : column - base);
}

template <class I>
__global__ void __launch_bounds__(kBlock) lengthen_chunks(const I* indices, const std::int32_t* bases, int64 length,
                                                          int64 of_line, int64 count, std::int32_t* columns) {
  const Chunk chunk(length, of_line);
  if (chunk.number >= count || !chunk.within) return;
  columns[chunk.position] = column_from(indices[chunk.position], bases ? bases[chunk.number] : 0);
}

template <class I>
__global__ void __launch_bounds__(kBlock) count_columns(const I* indices, int64 count, unsigned long long* found) {
  const int64 stride = static_cast<int64>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (int64 e = thread_index(); e < count; e += stride) mine += !Columns<I>::padding(indices[e]);
  mine = sum_of_lanes<32>(mine);
  if (threadIdx.x % 32 == 0 && mine > 0) atomicAdd(found, mine);
}

int64 length_of(Shape shape) { return shape.cols < 0 ? shape.rows : shape.cols; }

}  // namespace

}  // namespace cuda

using namespace cuda;

int64 write_short(const Array& columns, const ColumnArrays& to) {
  const int64 length = length_of(columns.shape), count = ColumnArrays::bases_for(columns.shape).rows;
  const FirstFaults unfit;
  with_index_type(to.indices.dtype, [&](auto zero) {
    using I = decltype(zero);
    launch("shorten columns", shorten_chunks<I>, blocks(count * kChunk), dim3(kBlock), columns.as<const std::int32_t>(),
           length, chunks_in(length), count, to.indices.as<I>(), to.bases ? to.bases->as<std::int32_t>() : nullptr,
           reach_of(to.indices.dtype), unfit.outside());
  });
  const Fault fault = unfit.fault(Fault::outside);
  return fault.kind == Fault::none ? -1 : fault.at;
}

void write_long(const Array& indices, const Array* bases, const Array& to) {
  const int64 length = length_of(indices.shape), count = ColumnArrays::bases_for(indices.shape).rows;
  with_index_type(indices.dtype, [&](auto zero) {
    using I = decltype(zero);
    launch("lengthen columns", lengthen_chunks<I>, blocks(count * kChunk), dim3(kBlock), indices.as<const I>(),
           bases ? bases->as<const std::int32_t>() : nullptr, length, chunks_in(length), count, to.as<std::int32_t>());
  });
}

int64 count_unpadded(const Array& indices) {
  const Scratch<unsigned long long> found(1);
  CUDA_CALL(cudaMemsetAsync(found.get(), 0, sizeof(unsigned long long), stream()));
  with_index_type(indices.dtype, [&](auto zero) {
    using I = decltype(zero);
    launch("count columns", count_columns<I>, blocks(indices.size(), 4), dim3(kBlock), indices.as<const I>(),
           indices.size(), found.get());
  });
  return static_cast<int64>(download(found.get(), 1)[0]);
}

}  // namespace diagsparse
