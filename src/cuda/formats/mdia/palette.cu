// Palettes of masked diagonals on the GPU (formats/mdia/palette.hpp).
#include "core/compressed_rows.hpp"
#include "formats/mdia/masks.cuh"
#include "formats/mdia/palette.hpp"

namespace diagsparse {

namespace cuda::mdia {

namespace {

constexpr int kSlots = 512;           // of the hash table of a diagonal
constexpr int64 kTogether = 1 << 12;  // diagonals whose tables are found in one pass

struct ResidentCodings {
  Array list;
  auto arrays() const { return std::tie(list); }
};

// A thread processes a diagonal, and every gridDim.y-th block.
__global__ void __launch_bounds__(kBlock)
    count_elements(const Mask* mask, int64 blocks, int64 diagonals, unsigned long long* elements) {
  const int64 d = thread_index();
  if (d >= diagonals) return;
  unsigned long long count = 0;
  for (int64 b = blockIdx.y; b < blocks; b += gridDim.y) count += __popc(mask[b * diagonals + d]);
  if (count > 0) atomicAdd(elements + d, count);
}

template <int Bytes>
__device__ std::uint32_t slot_of(const ValueBits<Bytes>& value) {
  std::uint64_t hash = 0;
  for (int k = 0; k < ValueBits<Bytes>::count; ++k) hash = (hash ^ value.words[k]) * 0x9e3779b97f4a7c15u;
  return static_cast<std::uint32_t>(hash >> 32) % kSlots;
}

// Adds the value at a position to the hash table of its diagonal, unless that has too many values already.
template <class B>
__device__ void note_value(const B* values, int64 position, unsigned long long* slots, int* count) {
  const B value = values[position];
  for (std::uint32_t slot = slot_of(value); *static_cast<volatile int*>(count) <= kMostColors;
       slot = (slot + 1) % kSlots) {
    unsigned long long other = *static_cast<volatile unsigned long long*>(slots + slot);
    if (other == 0) {
      other = atomicCAS(slots + slot, 0ull, static_cast<unsigned long long>(position + 1));
      if (other == 0) {
        atomicAdd(count, 1);
        return;
      }
    }
    if (values[other - 1] == value) return;
  }
}

// A warp processes a block of rows, and a lane a row. slots: for each of the diagonals `first` to `last` - 1 a hash
// table of positions of different values, plus 1; 0 marks a free slot. count: how many slots are taken.
template <class B>
__global__ void __launch_bounds__(kBlock)
    find_distinct(const Mdia<B> a, int64 first, int64 last, unsigned long long* slots, int* count) {
  const int64 block = thread_index() / 32;
  if (block >= a.blocks()) return;
  const int lane = threadIdx.x % 32;
  int64 position = a.begin[block];
  for (int64 d = 0; d < last; ++d) {
    const Mask rows = a.mask[block * a.diagonals + d];
    const int64 mine = position + __popc(rows & below(lane));
    position += __popc(rows);
    if (d < first || (rows >> lane & 1) == 0) continue;
    note_value(a.values, mine, slots + (d - first) * kSlots, count + (d - first));
  }
}

// The same for a csr matrix whose occupied diagonals are these. A thread processes a row.
template <class B>
__global__ void __launch_bounds__(kBlock)
    find_distinct_by_rows(const Csr<B> a, const std::int64_t* offsets, int64 diagonals, unsigned long long* slots,
                          int* count) {
  const int64 i = thread_index();
  if (i >= a.rows) return;
  for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
    const int64 offset = a.indices[e] - i;
    int64 d = 0, left = diagonals;
    while (left > 1) {
      const int64 half = left / 2;
      if (offsets[d + half] <= offset) d += half, left -= half;
      else left = half;
    }
    note_value(a.values, e, slots + d * kSlots, count + d);
  }
}

template <class B>
__global__ void __launch_bounds__(kBlock)
    gather_values(const B* values, const std::int64_t* positions, int64 count, B* out) {
  const int64 i = thread_index();
  if (i < count) out[i] = values[positions[i]];
}

// In both kernels, a warp processes a block of rows, and a lane a row.
template <class B>
__global__ void __launch_bounds__(kBlock)
    write_codes(const Mdia<B> a, const Mdia<B> coded, const std::int64_t* table_indptr, std::uint32_t* codes, B* out) {
  const int64 block = thread_index() / 32;
  if (block >= a.blocks()) return;
  const int lane = threadIdx.x % 32;
  const B* value = a.values + a.begin[block];
  out += coded.begin[block];
  for (int64 d = 0; d < a.diagonals; ++d) {
    const Mask rows = a.mask[block * a.diagonals + d];
    const Coding coding = coded.codings[d];
    const int rank = __popc(rows & below(lane));
    const bool has = rows >> lane & 1;
    if (coding.is_stored()) {
      if (has) out[rank] = value[rank];
      out += __popc(rows);
    } else if (coding.bits > 0 && rows != 0) {
      const auto colors = static_cast<std::uint32_t>(table_indptr[d + 1] - coding.table);
      const std::uint32_t code = has ? position_in(coded.values + coding.table, colors, value[rank]) : 0;
      const int bit = lane * coding.bits;
      for (int w = 0; w < coding.bits; ++w) {
        const std::uint32_t word = __reduce_or_sync(~0u, bit / 32 == w ? code << bit % 32 : 0);
        if (lane == 0) codes[block * coded.words + coding.word + w] = word;
      }
    }
    value += __popc(rows);
  }
}

template <class B>
__global__ void __launch_bounds__(kBlock) look_up_packed(const Mdia<B> coded, const std::int64_t* begin, B* out) {
  const int64 block = thread_index() / 32;
  if (block >= coded.blocks()) return;
  const int lane = threadIdx.x % 32;
  const B* stored = coded.values + coded.begin[block];
  out += begin[block];
  for (int64 d = 0; d < coded.diagonals; ++d) {
    const Mask rows = coded.mask[block * coded.diagonals + d];
    const int rank = __popc(rows & below(lane));
    if (rows >> lane & 1) {
      const bool in_table = coded.is_coded(d);
      out[rank] = in_table ? coded.values[coded.in_table(coded.codings[d], block, lane)] : stored[rank];
    }
    if (!coded.is_coded(d)) stored += __popc(rows);
    out += __popc(rows);
  }
}

// The values of the diagonals `first` to `last` - 1.
template <class B>
void find_values(const Mdia<B>& a, int64 first, int64 last, std::vector<DistinctValues>& all) {
  const int64 diagonals = last - first;
  const Scratch<unsigned long long> slots(diagonals * kSlots);
  const Scratch<int> taken(diagonals);
  CUDA_CALL(cudaMemsetAsync(slots.get(), 0, diagonals * kSlots * sizeof(unsigned long long), stream()));
  CUDA_CALL(cudaMemsetAsync(taken.get(), 0, diagonals * sizeof(int), stream()));
  launch("find distinct", find_distinct<B>, cuda::blocks(32 * a.blocks()), dim3(kBlock), a, first, last, slots.get(),
         taken.get());
  const std::vector<int> count = download(static_cast<const int*>(taken.get()), diagonals);
  const std::vector<unsigned long long> found =
      download(static_cast<const unsigned long long*>(slots.get()), diagonals * kSlots);
  std::vector<std::int64_t> positions;
  for (int64 d = 0; d < diagonals; ++d) {
    for (int64 s = d * kSlots; count[d] <= kMostColors && s < (d + 1) * kSlots; ++s) {
      if (found[s] != 0) positions.push_back(static_cast<std::int64_t>(found[s]) - 1);
    }
  }
  const auto total = static_cast<int64>(positions.size());
  if (total == 0) return;
  const Scratch<B> gathered(total);
  const Array resident = upload(positions);
  launch("gather values", gather_values<B>, cuda::blocks(total), dim3(kBlock), a.values,
         resident.as<const std::int64_t>(), total, gathered.get());
  const std::vector<B> values = download(static_cast<const B*>(gathered.get()), total);
  const char* from = reinterpret_cast<const char*>(values.data());
  for (int64 d = 0; d < diagonals; ++d) {
    if (count[d] > kMostColors) continue;
    const char* const end = from + count[d] * sizeof(B);
    all[first + d].values.assign(from, end);
    from = end;
  }
}

}  // namespace

}  // namespace cuda::mdia

using namespace cuda;
using namespace cuda::mdia;

Array codings_of(const Structure& structure) {
  return cached<ResidentCodings>(structure.cache(), "codings",
                                 [&] {
                                   const auto host =
                                       codings_for(table_pointers(static_cast<const Indices&>(structure)));
                                   return std::make_shared<ResidentCodings>(ResidentCodings{upload(host)});
                                 })
      ->list;
}

std::vector<DistinctValues> distinct_values(const Matrix& m) {
  const Array& mask = m.index("mask");
  const int64 blocks = mask.shape.rows, diagonals = mask.shape.cols;
  std::vector<DistinctValues> all(diagonals);
  const Scratch<unsigned long long> elements(diagonals);
  CUDA_CALL(cudaMemsetAsync(elements.get(), 0, diagonals * sizeof(unsigned long long), stream()));
  dim3 grid = cuda::blocks(diagonals);
  grid.y = static_cast<unsigned>(std::clamp<int64>(blocks, 1, 256));
  launch("count elements", count_elements, grid, dim3(kBlock), mask.as<const Mask>(), blocks, diagonals,
         elements.get());
  const std::vector<unsigned long long> counts =
      download(static_cast<const unsigned long long*>(elements.get()), diagonals);
  for (int64 d = 0; d < diagonals; ++d) all[d].elements = static_cast<int64>(counts[d]);
  with_bits(m.dtype, [&](auto zero) {
    using B = decltype(zero);
    const auto a = Mdia<B>::over(*m.structure, m.values.as<B>());
    for (int64 d = 0; d < diagonals; d += kTogether) find_values(a, d, std::min(diagonals, d + kTogether), all);
  });
  return all;
}

std::vector<int64> count_colors(const Matrix& csr, const std::vector<int64>& offsets) {
  const auto diagonals = static_cast<int64>(offsets.size());
  const Array resident = upload(offsets);
  const Scratch<unsigned long long> slots(diagonals * kSlots);
  const Scratch<int> taken(diagonals);
  CUDA_CALL(cudaMemsetAsync(slots.get(), 0, diagonals * kSlots * sizeof(unsigned long long), stream()));
  CUDA_CALL(cudaMemsetAsync(taken.get(), 0, diagonals * sizeof(int), stream()));
  with_bits(csr.dtype, [&](auto zero) {
    using B = decltype(zero);
    launch("find distinct by rows", find_distinct_by_rows<B>, cuda::blocks(csr.rows), dim3(kBlock), Csr<B>::of(csr),
           resident.as<const std::int64_t>(), diagonals, slots.get(), taken.get());
  });
  std::vector<int64> counts;
  for (const int count : download(static_cast<const int*>(taken.get()), diagonals)) {
    counts.push_back(count > kMostColors ? 0 : count);
  }
  return counts;
}

void encode(const Matrix& plain, const Matrix& coded) {
  with_bits(plain.dtype, [&](auto zero) {
    using B = decltype(zero);
    const auto a = Mdia<B>::over(*plain.structure, plain.values.as<B>());
    launch("write codes", write_codes<B>, cuda::blocks(32 * a.blocks()), dim3(kBlock), a,
           Mdia<B>::over(*coded.structure, coded.values.as<B>()), coded.index("table_indptr").as<const std::int64_t>(),
           coded.index("codes").as<std::uint32_t>(), coded.values.as<B>());
  });
}

void decode(const Matrix& coded, const Matrix& plain) {
  with_bits(plain.dtype, [&](auto zero) {
    using B = decltype(zero);
    const auto a = Mdia<B>::over(*coded.structure, coded.values.as<B>());
    launch("look up", look_up_packed<B>, cuda::blocks(32 * a.blocks()), dim3(kBlock), a,
           plain.index("block_indptr").as<const std::int64_t>(), plain.values.as<B>());
  });
}

}  // namespace diagsparse
