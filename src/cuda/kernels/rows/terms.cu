// C = alpha A B + beta C of csr, entry by entry of C, from lists: "terms".
//
//   A: m x l, B: l x n, C: m x n, whose structure the plan has. Entry c of C is the sum of the terms t from first[c] to
//   first[c + 1], each A.values[left[t]] times B.values[right[t]]; they stand in the order of A's columns.
//
// The plan lists the terms: 8 bytes each and 4 an entry of C. A thread takes an entry of C and four terms at a time,
// whose values it reads through the caches. An entry with more than kMany terms gets a block: its threads fetch a value
// of A and of B each, and one of them adds up what they have fetched. So C is written once, no thread waits for
// another's row, and lengths of rows do not matter: it is the fastest where there is memory for the lists. Each sum is
// taken in order, from the first term on, as "hash" takes it: both have the same bits, on every run.
#include "device/resident.cuh"
#include "device/values.cuh"
#include "entries/row_products.cuh"
#include "kernels/row_kernels.hpp"

namespace diagsparse::cuda::rows {

namespace {

constexpr int kMany = 256, kFetched = 128;

struct ResidentTerms {
  Array first, pairs, many;  // int32; left << 32 | right; the entries with many terms
  int64 count = 0;           // of entries of C

  template <class F>
  void visit(const F& f) const {
    f(first);
    f(pairs);
    f(many);
  }
};

// A thread takes a product of a range and writes which entry of C it belongs to, counted from that of the range's
// first.
__global__ void __launch_bounds__(kBlock)
    write_entries(const RowProducts products, const RowRange range, const int64* indptr, const std::int32_t* indices,
                  Key* keys, int64* pairs) {
  const int64 t = thread_index();
  if (t >= range.count) return;
  const auto p = products.at(range.first + t, range.first_row);
  const std::int32_t column = products.b.indices[p.right];
  const int64 c = bisect(indptr[p.row], indptr[p.row + 1], [&](int64 e) { return indices[e] < column; });
  keys[t] = static_cast<Key>(c - indptr[range.first_row]);
  pairs[t] = static_cast<int64>(make_key(p.left, p.right));
}

__global__ void __launch_bounds__(kBlock)
    find_first(const Key* keys, const RowRange range, const int64* indptr, std::int32_t* first) {
  const int64 t = thread_index();
  if (t >= range.count || (t > 0 && keys[t] == keys[t - 1])) return;
  first[indptr[range.first_row] + static_cast<int64>(keys[t])] = static_cast<std::int32_t>(range.first + t);
}

// Counts the entries with many terms, and lists them where `out` is given, in any order.
__global__ void __launch_bounds__(kBlock)
    find_many(const std::int32_t* first, int64 count, int* found, std::int32_t* out) {
  const int64 c = thread_index();
  if (c >= count || first[c + 1] - first[c] <= kMany) return;
  const int at = atomicAdd(found, 1);
  if (out) out[at] = static_cast<std::int32_t>(c);
}

std::shared_ptr<ResidentTerms> list_terms(const Plan& plan) {
  if (!can_list_terms(plan)) {
    throw std::invalid_argument("matmul: kernel \"terms\" lists fewer than 2^31 products, this one sums " +
                                std::to_string(plan.work->operations()) + "; \"hash\" needs no lists");
  }
  const auto& c = static_cast<const Indices&>(*plan.c);
  const ProductList list(*plan.a, *plan.b);
  const auto made = std::make_shared<ResidentTerms>();
  made->count = c.stored();
  made->first = Array::empty(DType::i32, {made->count + 1});
  made->pairs = Array::empty(DType::u64, {list.total()});
  auto* const first = made->first.as<std::int32_t>();
  const auto* indptr = c.at("indptr").as<const int64>();
  for (const RowRange& range : list.ranges()) {
    Keys keys(range.count);
    launch("write entries", write_entries, blocks(range.count), dim3(kBlock), list.on_device(), range, indptr,
           c.at("indices").as<const std::int32_t>(), keys.key(), keys.place());
    int bits = 1;
    while (made->count >> bits) ++bits;
    sort(keys, bits);
    CUDA_CALL(cudaMemcpyAsync(made->pairs.as<Key>() + range.first, keys.place(), 8 * range.count,
                              cudaMemcpyDeviceToDevice, stream()));
    launch("find first", find_first, blocks(range.count), dim3(kBlock), static_cast<const Key*>(keys.key()), range,
           indptr, first);
  }
  const auto last = static_cast<std::int32_t>(list.total());
  CUDA_CALL(cudaMemcpyAsync(first + made->count, &last, sizeof last, cudaMemcpyHostToDevice, stream()));

  const Scratch<int> found(2);
  CUDA_CALL(cudaMemsetAsync(found.get(), 0, 2 * sizeof(int), stream()));
  launch("find many", find_many, blocks(made->count), dim3(kBlock), first, made->count, found.get(), nullptr);
  made->many = Array::empty(DType::i32, {download(static_cast<const int*>(found.get()), 1)[0]});
  if (made->many.size() > 0) {
    launch("find many", find_many, blocks(made->count), dim3(kBlock), first, made->count, found.get() + 1,
           made->many.as<std::int32_t>());
  }
  return made;
}

std::shared_ptr<ResidentTerms> terms_of(const Plan& plan) {
  return keep<ResidentTerms>(plan.kept, "terms", [&] { return list_terms(plan); });
}

__device__ std::int32_t left_of(Key pair) { return static_cast<std::int32_t>(pair >> 32); }
__device__ std::int32_t right_of(Key pair) { return static_cast<std::int32_t>(pair & 0xffffffffu); }

template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    add_terms(const U* a, const V* b, const std::int32_t* first, const Key* pairs, int64 count, Product<U, V>* c,
              const __grid_constant__ Update<Product<U, V>> update) {
  constexpr int each = 4;
  const int64 entry = thread_index();
  if (entry >= count) return;
  const std::int32_t begin = first[entry], terms = first[entry + 1] - begin;
  if (terms > kMany) return;
  Product<U, V> sum{};
  for (int t = 0; t < terms; t += each) {
    U left[each]{};
    V right[each]{};
#pragma unroll
    for (int k = 0; k < each; ++k) {
      if (t + k >= terms) continue;
      const Key pair = load_once(pairs + begin + t + k);
      left[k] = load(a + left_of(pair)), right[k] = load(b + right_of(pair));
    }
#pragma unroll
    for (int k = 0; k < each; ++k) {
      if (t + k < terms) sum += multiply(left[k], right[k]);
    }
  }
  update.one(c + entry, sum);
}

// A block takes an entry with many terms.
template <class U, class V>
__global__ void __launch_bounds__(kFetched)
    add_many_terms(const U* a, const V* b, const std::int32_t* first, const Key* pairs, const std::int32_t* many,
                   Product<U, V>* c, const __grid_constant__ Update<Product<U, V>> update) {
  __shared__ U left[kFetched];
  __shared__ V right[kFetched];
  const std::int32_t entry = many[blockIdx.x], end = first[entry + 1];
  Product<U, V> sum{};
  for (std::int32_t t = first[entry]; t < end; t += kFetched) {
    const int here = min(kFetched, end - t);
    U u{};
    V v{};
    if (threadIdx.x < here) {
      const Key pair = load_once(pairs + t + threadIdx.x);
      u = load(a + left_of(pair)), v = load(b + right_of(pair));
    }
    __syncthreads();  // the sum of what was fetched before
    left[threadIdx.x] = u, right[threadIdx.x] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int k = 0; k < here; ++k) sum += multiply(left[k], right[k]);
    }
  }
  if (threadIdx.x == 0) update.one(c + entry, sum);
}

template <class U, class V>
struct AddTerms {
  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const std::shared_ptr<ResidentTerms> terms = terms_of(plan);
    const auto* first = terms->first.as<const std::int32_t>();
    const auto* pairs = terms->pairs.as<const Key>();
    const Update<T> update(alpha, beta);
    launch("csr matmul", add_terms<U, V>, blocks(terms->count), dim3(kBlock), left.values.as<const U>(),
           right.values.as<const V>(), first, pairs, terms->count, c.values.as<T>(), update);
    launch("csr matmul", add_many_terms<U, V>, dim3(static_cast<unsigned>(terms->many.size())), dim3(kFetched),
           left.values.as<const U>(), right.values.as<const V>(), first, pairs, terms->many.as<const std::int32_t>(),
           c.values.as<T>(), update);
  }
};

void prepare(const Plan& plan) { terms_of(plan); }

}  // namespace

int64 terms_nbytes(const Plan& plan) { return 8 * plan.work->operations() + 4 * (plan.c->stored() + 1); }

bool can_list_terms(const Plan& plan) {
  constexpr int64 most = 0x7fffffff;
  return plan.work->operations() < most && plan.a->stored() < most && plan.b->stored() < most;
}

MatmulRow multiply_by_terms() { return {"terms", every_pair<AddTerms, MatmulKernel>(), prepare}; }

}  // namespace diagsparse::cuda::rows
