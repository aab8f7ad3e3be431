// Kernel "group" of dia, hm and cdm: C = alpha op(A) op(B) + beta C of scattered diagonals.
//
// A block takes kGroupRows rows of kGroupDiagonals neighbouring diagonals of C; a warp eight of the diagonals, a thread
// a few rows of each, whose sums stay in registers. The block brings A's diagonals and windows of B's into shared
// memory, chunk after chunk (see group_lists.hpp), and every window serves all of the group's diagonals that meet it.
// Each value of C is written once, and sums add up in the order of A's offsets: the same bits on every run. Borders
// are filled up with zeros: a sum that is infinite or no number is done again over the stored terms alone.
#include <cuda_pipeline_primitives.h>

#include "kernels/diagonal_kernels.hpp"
#include "kernels/group_lists.hpp"
#include "memory.cuh"
#include "resident.cuh"

namespace diagsparse::cuda {

namespace {

constexpr int kWarps = 16, kEach = kGroupDiagonals / kWarps, kThreadRows = kGroupRows / 32;
constexpr int kBudget = 104 << 10;  // bytes of shared memory for a chunk: two blocks fit a multiprocessor

struct ResidentGroups {
  Array groups, chunks, a, b, c, pairs, starts;
  int count = 0, a_bytes = 0, b_bytes = 0, shared = 0;

  ResidentGroups(const GroupLists& lists, int a_item, int b_item)
      : groups(upload(lists.groups)),
        chunks(upload(lists.chunks)),
        a(upload(lists.a)),
        b(upload(lists.b)),
        c(upload(lists.c)),
        pairs(upload(lists.pairs)),
        starts(upload(lists.starts)),
        count(static_cast<int>(lists.groups.size())) {
    int most_pairs = 0;
    for (const GroupChunk& chunk : lists.chunks) {
      const auto& last = chunk.b_end > chunk.b ? lists.b[chunk.b_end - 1] : GroupLine{};
      a_bytes = std::max(a_bytes, round_up((chunk.a_end - chunk.a) * kGroupRows * a_item));
      b_bytes = std::max(b_bytes, round_up((last.place + last.length) * b_item));
      most_pairs = std::max(most_pairs, chunk.pairs_end - chunk.pairs);
    }
    shared = a_bytes + b_bytes + most_pairs * static_cast<int>(sizeof(GroupPair));
  }
  template <class F>
  void visit(const F& f) const {
    for (const Array* array : {&groups, &chunks, &a, &b, &c, &pairs, &starts}) f(*array);
  }

 private:
  static int round_up(int bytes) { return (bytes + 15) / 16 * 16; }
};

struct Lists {
  const Group* groups;
  const GroupChunk* chunks;
  const GroupLine *a, *b, *c;
  const GroupPair* pairs;
  const std::int32_t* starts;
  int a_bytes, b_bytes;
  const Sum* sums;
  const Term* terms;
};

// One warp: the line's elements for rows i0 ..., zeros where nothing is stored.
template <class T>
__device__ void fetch(T* shared, const T* values, const GroupLine& line, int64 i0) {
  const int64 x0 = i0 + line.shift;
  const int first = static_cast<int>(min(max(line.first - x0, int64(0)), int64(line.length)));
  const int last = static_cast<int>(min(max(line.last - x0, int64(0)), int64(line.length)));
  const T* from = values + line.base + x0;
  for (int t = threadIdx.x % 32; t < line.length; t += 32) {
    const bool stored = t >= first && t < last;
    __pipeline_memcpy_async(shared + line.place + t, stored ? from + t : values, sizeof(T), stored ? 0 : sizeof(T));
  }
}

// The sum over the stored terms alone.
template <class U, class V>
__device__ Product<U, V> alone(const Lists& lists, int64 diagonal, int64 i, const U* a, bool conj_a, const V* b,
                               bool conj_b) {
  Product<U, V> total{};
  for (int64 t = lists.sums[diagonal].terms; t < lists.sums[diagonal].terms_end; ++t) {
    const Term& term = lists.terms[t];
    if (i < term.first || i >= term.last) continue;
    total += multiply(conjugate_if(conj_a, load(a + term.u + i)), conjugate_if(conj_b, load(b + term.v + i)));
  }
  return total;
}

template <class U, class V>
__global__ void __launch_bounds__(32 * kWarps)
    group_rows(const __grid_constant__ Lists lists, const U* a, bool conj_a, const V* b, bool conj_b, Product<U, V>* c,
               const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  extern __shared__ double2 memory[];
  U* a_lines = reinterpret_cast<U*>(memory);
  V* b_lines = reinterpret_cast<V*>(reinterpret_cast<char*>(memory) + lists.a_bytes);
  GroupPair* pairs = reinterpret_cast<GroupPair*>(reinterpret_cast<char*>(memory) + lists.a_bytes + lists.b_bytes);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Group group = lists.groups[blockIdx.y];
  const int64 i0 = static_cast<int64>(blockIdx.x) * kGroupRows;
  T sums[kEach][kThreadRows] = {};
  for (int n = group.chunk; n < group.chunk_end; ++n) {
    const GroupChunk chunk = lists.chunks[n];
    __syncthreads();  // the last chunk's lines are done with
    for (int l = chunk.a + warp; l < chunk.a_end; l += kWarps) fetch(a_lines, a, lists.a[l], i0);
    for (int l = chunk.b + warp; l < chunk.b_end; l += kWarps) fetch(b_lines, b, lists.b[l], i0);
    for (int p = threadIdx.x; p < chunk.pairs_end - chunk.pairs; p += blockDim.x) {
      __pipeline_memcpy_async(pairs + p, lists.pairs + chunk.pairs + p, sizeof(GroupPair));
    }
    const std::int32_t* starts = lists.starts + chunk.starts + warp * kEach;
    const int start = lane <= kEach ? starts[lane] : 0;
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kEach; ++d) {
      const int end = __shfl_sync(0xffffffffu, start, d + 1);
      for (int p = __shfl_sync(0xffffffffu, start, d); p < end; ++p) {
        const GroupPair pair = pairs[p];
#pragma unroll
        for (int q = 0; q < kThreadRows; ++q) {
          const U left = conjugate_if(conj_a, a_lines[pair.a + lane + 32 * q]);
          sums[d][q] += multiply(left, conjugate_if(conj_b, b_lines[pair.b + lane + 32 * q]));
        }
      }
    }
  }
#pragma unroll
  for (int d = 0; d < kEach; ++d) {
    const int number = group.c + warp * kEach + d;
    if (number >= group.c_end) break;
    const GroupLine line = lists.c[number];
#pragma unroll
    for (int q = 0; q < kThreadRows; ++q) {
      const int64 i = i0 + lane + 32 * q;
      if (i < line.first || i >= line.last) continue;
      T value = sums[d][q];
      if (!finite(value)) value = alone<U, V>(lists, number, i, a, conj_a, b, conj_b);
      if (update.plain) store_once(c + line.base + i, value);
      else update.one(c + line.base + i, value);
    }
  }
}

template <class U, class V>
std::shared_ptr<ResidentGroups> groups_of(const Plan& plan) {
  const int a_item = sizeof(U), b_item = sizeof(V);
  const std::string key = "groups " + std::to_string(a_item) + " " + std::to_string(b_item);
  return keep<ResidentGroups>(plan.kept, key.c_str(), [&] {
    return std::make_shared<ResidentGroups>(group_lists(plan, a_item, b_item, kBudget), a_item, b_item);
  });
}
std::shared_ptr<ResidentSums> sums_of(const Plan& plan) {
  return keep<ResidentSums>(plan.kept, "sums", [&] { return std::make_shared<ResidentSums>(plan.sums); });
}

template <class U, class V>
struct GroupMatmul {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const auto kept = groups_of<U, V>(plan);
    const auto sums = sums_of(plan);
    const Lists lists{kept->groups.template as<const Group>(),
                      kept->chunks.template as<const GroupChunk>(),
                      kept->a.template as<const GroupLine>(),
                      kept->b.template as<const GroupLine>(),
                      kept->c.template as<const GroupLine>(),
                      kept->pairs.template as<const GroupPair>(),
                      kept->starts.template as<const std::int32_t>(),
                      kept->a_bytes,
                      kept->b_bytes,
                      sums->sums_begin(),
                      sums->terms_begin()};
    const auto kernel = group_rows<U, V>;
    CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kept->shared));
    const dim3 grid(static_cast<unsigned>(ceil_div(plan.rows, kGroupRows)), static_cast<unsigned>(kept->count));
    launch_shared("matmul group", kernel, grid, dim3(32 * kWarps), kept->shared, lists, a.values.as<U>(),
                  plan.op_a.conjugated, b.values.as<V>(), plan.op_b.conjugated, c.values.as<T>(),
                  Update<T>(alpha, beta));
  }
};

void prepare(const Plan& plan) {
  sums_of(plan);
  with_value_type(plan.dtype, [&](auto value) { groups_of<decltype(value), decltype(value)>(plan); });
}

}  // namespace

MatmulRow matmul_group() { return {"group", every_pair<GroupMatmul, MatmulKernel>(), prepare}; }

}  // namespace diagsparse::cuda
