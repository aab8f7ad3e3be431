// Kernel "group" of dia, hm and cdm: C = alpha op(A) op(B) + beta C of scattered diagonals.
//
//   op(A): m x l, op(B): l x n, C: m x n, any of the layouts, values of any two types.  lists: groups of C's diagonals,
//   the bunches of each, and of a bunch its sections of A and B and its pairs (lists.hpp).
//
// A block takes neighbouring rows of neighbouring diagonals of C (its shape), a warp a few of the diagonals, a thread a
// few rows of each, whose sums stay in registers. The block brings A's diagonals and windows of B's into shared memory,
// bunch after bunch, a bulk copy each (see fetch.cuh), and every window serves all of the group's diagonals that meet
// it: so A and B are read once for each group, where "row" reads them once for each pair. It wins where there are many
// pairs (15 million multiply-adds, choice.cpp) and no bands. Each value of C is written once, and sums add up in the
// order of A's offsets: the same bits on every run. The ends of diagonals are filled up with zeros: a sum that is
// infinite or no number is done again over the stored terms alone.
#include "device/fetch.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/diagonal_kernels.hpp"
#include "kernels/group/lists.hpp"

namespace diagsparse::cuda::group {

namespace {

constexpr int kWarps = 16;
constexpr int kBudget = 110 << 10;  // bytes of shared memory for a bunch: two blocks fit a multiprocessor

struct ResidentLists {
  Array groups, bunches, a, b, c, pairs, starts;
  GroupShape shape;
  int count = 0, shared = 0;

  explicit ResidentLists(const Lists& lists)
      : groups(upload(lists.groups)),
        bunches(upload(lists.bunches)),
        a(upload(lists.a)),
        b(upload(lists.b)),
        c(upload(lists.c)),
        pairs(upload(lists.pairs)),
        starts(upload(lists.starts)),
        shape(lists.shape),
        count(static_cast<int>(lists.groups.size())),
        shared(lists.most_bytes) {}
  template <class F>
  void visit(const F& f) const {
    for (const Array* array : {&groups, &bunches, &a, &b, &c, &pairs, &starts}) f(*array);
  }
};

struct ListsOnDevice {
  const Group* groups;
  const Bunch* bunches;
  const Section *a, *b, *c;
  const Pair* pairs;
  const std::int32_t* starts;
  const Sum* sums;
  const Term* terms;
};

// The section's elements for rows i0 ....
template <class T>
__device__ Copy copy_of(const Section& section, const Source<T>& source, char* shared, int64 i0) {
  constexpr int item = sizeof(T);
  const auto clamp = [&](int64 x) { return static_cast<int>(min(max(x - i0, int64(0)), int64(section.length))); };
  const auto bytes = [&](int64 at) { return reinterpret_cast<const char*>(source.values + at); };
  return {bytes(section.base + i0),
          bytes(0),
          bytes(source.size),
          shared + item * section.place,
          item,
          section.length,
          clamp(section.first),
          clamp(section.last),
          section.length};
}

// The sum over the stored terms alone.
template <class U, class V>
__device__ Product<U, V> alone(const ListsOnDevice& lists, int64 diagonal, int64 i, const U* a, bool conj_a, const V* b,
                               bool conj_b) {
  Product<U, V> total{};
  for (int64 t = lists.sums[diagonal].terms; t < lists.sums[diagonal].terms_end; ++t) {
    const Term& term = lists.terms[t];
    if (i < term.first || i >= term.last) continue;
    total += multiply(conjugate_if(conj_a, load(a + term.u + i)), conjugate_if(conj_b, load(b + term.v + i)));
  }
  return total;
}

template <int Rows, int Diagonals, class U, class V>
__global__ void __launch_bounds__(32 * kWarps, 2)
    group_rows(const __grid_constant__ ListsOnDevice lists, const Source<U> a, bool conj_a, const Source<V> b,
               bool conj_b, Product<U, V>* c, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int each = Diagonals / kWarps, thread_rows = Rows / 32;
  extern __shared__ __align__(kSector) char shared[];
  __shared__ Copies copies;
  __shared__ int left;  // copies that one thread cannot start
  __shared__ Bunch bunches[2];
  __shared__ Section sections[Diagonals];  // of C
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Group group = lists.groups[blockIdx.y];
  const int64 i0 = static_cast<int64>(blockIdx.x) * Rows;
  T sums[each][thread_rows] = {};
  if (threadIdx.x == 0) {
    copies.begin(blockDim.x);
    left = 0;
    if (group.bunch < group.bunch_end) bunches[0] = lists.bunches[group.bunch];
  }
  for (int d = threadIdx.x; d < group.c_end - group.c; d += blockDim.x) sections[d] = lists.c[group.c + d];
  for (int n = group.bunch; n < group.bunch_end; ++n) {
    before_copies();
    __syncthreads();  // the last bunch's sections are done with
    const int round = n - group.bunch;
    const Bunch& bunch = bunches[round % 2];
    const U* a_sections = reinterpret_cast<const U*>(shared);
    const V* b_sections = reinterpret_cast<const V*>(shared + bunch.b_at);
    const Pair* pairs = reinterpret_cast<const Pair*>(shared + bunch.pairs_at);
    std::int32_t* list = reinterpret_cast<std::int32_t*>(shared + bunch.list_at);
    const int a_count = bunch.a_end - bunch.a, brought = a_count + bunch.b_end - bunch.b;
    const auto copy_at = [&](int l) {  // sections of A, windows of B, and the pairs
      if (l < a_count) return copy_of(lists.a[bunch.a + l], a, shared, i0);
      if (l < brought) return copy_of(lists.b[bunch.b + l - a_count], b, shared + bunch.b_at, i0);
      const auto bytes = [&](int at) { return reinterpret_cast<const char*>(lists.pairs + at); };
      const int count = bunch.pairs_end - bunch.pairs;
      return Copy{bytes(bunch.pairs),
                  bytes(bunch.pairs),
                  bytes(bunch.pairs_end),
                  shared + bunch.pairs_at,
                  sizeof(Pair),
                  count,
                  0,
                  count,
                  count};
    };
    for (int l = lane * kWarps + warp; l <= brought; l += blockDim.x) {  // all warps have as many to start
      const Copy copy = copy_at(l);
      if (copy.stored() && !copies.start(copy)) list[atomicAdd(&left, 1)] = l;
    }
    copies.started();
    const std::int32_t* starts = lists.starts + bunch.starts + warp * each;
    const int start_at = lane <= each ? starts[lane] : 0;
    if (threadIdx.x == 0 && n + 1 < group.bunch_end) bunches[(round + 1) % 2] = lists.bunches[n + 1];
    copies.wait(round);
    if (left > 0) {  // copies with gaps, dealt out evenly
      for (int p = warp; p < left; p += kWarps) start_by_warp(copy_at(list[p]), 0);
      asm volatile("cp.async.wait_all;" ::: "memory");
      __syncthreads();
      left = 0;
    }
#pragma unroll
    for (int d = 0; d < each; ++d) {
      const int end = __shfl_sync(0xffffffffu, start_at, d + 1);
#pragma unroll 4
      for (int p = __shfl_sync(0xffffffffu, start_at, d); p < end; ++p) {
        const Pair pair = pairs[p];
        if (static_cast<unsigned>(blockIdx.x) - pair.block >= static_cast<unsigned>(pair.count)) continue;
#pragma unroll
        for (int q = 0; q < thread_rows; ++q) {
          const U left = conjugate_if(conj_a, a_sections[pair.a + lane + 32 * q]);
          sums[d][q] += multiply(left, conjugate_if(conj_b, b_sections[pair.b + lane + 32 * q]));
        }
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int d = 0; d < each; ++d) {
    const int number = group.c + warp * each + d;
    if (number >= group.c_end) break;
    const Section& section = sections[warp * each + d];
    T* out = c + section.base;
#pragma unroll
    for (int q = 0; q < thread_rows; ++q) {
      const int64 i = i0 + lane + 32 * q;
      if (i < section.first || i >= section.last) continue;
      T value = sums[d][q];
      if (!finite(value)) value = alone<U, V>(lists, number, i, a.values, conj_a, b.values, conj_b);
      if (update.plain) store_once(out + i, value);
      else update.one(out + i, value);
    }
  }
}

template <class U, class V>
std::shared_ptr<ResidentLists> groups_of(const Plan& plan) {
  const int a_item = sizeof(U), b_item = sizeof(V);
  const std::string key = "groups " + std::to_string(a_item) + " " + std::to_string(b_item);
  return keep<ResidentLists>(plan.kept, key.c_str(), [&] {
    return std::make_shared<ResidentLists>(make_lists(plan, a_item, b_item, kBudget));
  });
}

template <class U, class V>
struct Matmul {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const auto kept = groups_of<U, V>(plan);
    const auto sums = resident_sums(plan);
    const ListsOnDevice lists{kept->groups.template as<const Group>(),
                              kept->bunches.template as<const Bunch>(),
                              kept->a.template as<const Section>(),
                              kept->b.template as<const Section>(),
                              kept->c.template as<const Section>(),
                              kept->pairs.template as<const Pair>(),
                              kept->starts.template as<const std::int32_t>(),
                              sums->sums_begin(),
                              sums->terms_begin()};
    const auto with = [&]<GroupShape shape>() {
      constexpr auto kernel = group_rows<shape.rows, shape.diagonals, U, V>;
      if (kept->shared > limits<kernel>().shared) {  // a GPU with little shared memory
        return find_matmul(plan.format(), "row").typed(a.dtype, b.dtype)(plan, a, b, alpha, beta, c);
      }
      const dim3 grid(static_cast<unsigned>(ceil_div(plan.rows, shape.rows)), static_cast<unsigned>(kept->count));
      launch_shared("matmul group", kernel, grid, dim3(32 * kWarps), kept->shared, lists, Source<U>(a),
                    plan.op_a.conjugated, Source<V>(b), plan.op_b.conjugated, c.values.as<T>(), Update<T>(alpha, beta));
    };
    if (kept->shape.rows == kManyDiagonals.rows) with.template operator()<kManyDiagonals>();
    else with.template operator()<kFewDiagonals>();
  }
};

void prepare(const Plan& plan) {
  resident_sums(plan);
  with_value_type(plan.dtype, [&](auto value) { groups_of<decltype(value), decltype(value)>(plan); });
}

}  // namespace

MatmulRow matmul() { return {"group", every_pair<Matmul, MatmulKernel>(), prepare}; }

}  // namespace diagsparse::cuda::group
