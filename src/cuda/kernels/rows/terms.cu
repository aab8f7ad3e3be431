// C = alpha A B + beta C of csr, entry by entry of C, from lists: "terms".
//
//   A: m x l, B: l x n, C: m x n, whose structure is in the plan. Entry c of C is the sum of the terms t from first[c]
//   to first[c + 1], each A.values[left[t]] times B.values[right[t]], in the order of A's columns.
//
// The plan lists the terms, with 8 bytes per term and 4 per entry of C; pairs.cuh adds them. C is written once, no
// thread waits for the row of another, and the lengths of rows do not matter. It is the fastest kernel if there is
// enough memory for the lists. "hash" adds the terms of each sum in the same order, so both give the same bits, on
// every run.
#include "device/resident.cuh"
#include "device/values.cuh"
#include "entries/row_products.cuh"
#include "kernels/rows/kernels.hpp"
#include "kernels/rows/pairs.cuh"

namespace diagsparse::cuda::rows {

namespace {

struct ResidentTerms {
  Array first, pairs, many;  // int32; left << 32 | right; the entries with many terms
  int64 count = 0;           // number of entries of C

  auto arrays() const { return std::tie(first, pairs, many); }
};

// A thread processes a product of a range and writes the entry of C to which it belongs, counted from the first entry
// of the range.
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
    find_first_terms(const Key* keys, const RowRange range, const int64* indptr, std::int32_t* first) {
  const int64 t = thread_index();
  if (t >= range.count || (t > 0 && keys[t] == keys[t - 1])) return;
  first[indptr[range.first_row] + static_cast<int64>(keys[t])] = static_cast<std::int32_t>(range.first + t);
}

std::shared_ptr<ResidentTerms> list_all_terms(const Plan& plan) {
  if (!can_list_terms(plan)) {
    throw std::invalid_argument("matmul: kernel \"terms\" lists fewer than 2^31 products, this one sums " +
                                std::to_string(plan.work->operations()) + "; \"hash\" needs no lists");
  }
  const auto& c = static_cast<const Indices&>(*plan.c);
  const ProductList list(*plan.a, *plan.b);
  const auto result = std::make_shared<ResidentTerms>();
  result->count = c.stored();
  result->first = Array::empty(DType::i32, {result->count + 1});
  result->pairs = Array::empty(DType::u64, {list.total()});
  auto* const first = result->first.as<std::int32_t>();
  const auto* indptr = c.at("indptr").as<const int64>();
  for (const RowRange& range : list.ranges()) {
    Keys keys(range.count);
    launch("write entries", write_entries, blocks(range.count), dim3(kBlock), list.on_device(), range, indptr,
           c.at("indices").as<const std::int32_t>(), keys.key(), keys.position());
    sort(keys, width_in_bits(result->count));
    CUDA_CALL(cudaMemcpyAsync(result->pairs.as<Key>() + range.first, keys.position(), 8 * range.count,
                              cudaMemcpyDeviceToDevice, stream()));
    launch("find first", find_first_terms, blocks(range.count), dim3(kBlock), static_cast<const Key*>(keys.key()),
           range, indptr, first);
  }
  end_lists(result->first, list.total());
  result->many = lists_with_many(result->first, result->count);
  return result;
}

std::shared_ptr<ResidentTerms> terms_of(const Plan& plan) {
  return cached<ResidentTerms>(plan.cache, "terms", [&] { return list_all_terms(plan); });
}

// Writes an entry of C.
template <class T>
struct ToEntry {
  T* c;
  Update<T> update;

  __device__ void operator()(int64 entry, T sum) const { update.one(c + entry, sum); }
};

template <class U, class V>
struct AddTerms {
  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const std::shared_ptr<ResidentTerms> terms = terms_of(plan);
    const PairValues<U, V> values{left.values.as<const U>(), right.values.as<const V>(), false, false};
    add_listed("csr matmul", values, terms->first, terms->pairs, terms->count, terms->many,
               ToEntry<T>{c.values.as<T>(), Update<T>(alpha, beta)});
  }
};

void prepare_terms(const Plan& plan) { terms_of(plan); }

}  // namespace

int64 terms_nbytes(const Plan& plan) { return 8 * plan.work->operations() + 4 * (plan.c->stored() + 1); }

bool can_list_terms(const Plan& plan) {
  constexpr int64 most = 0x7fffffff;
  return plan.work->operations() < most && plan.a->stored() < most && plan.b->stored() < most;
}

MatmulRow multiply_by_terms() { return {"terms", every_pair<AddTerms, MatmulKernel>(), prepare_terms}; }

}  // namespace diagsparse::cuda::rows
