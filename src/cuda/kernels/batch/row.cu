// Batches of dia, hm and cdm on the GPU: y_i = alpha op(A_i) x_i + beta y_i, and C_i = alpha op(A_i) op(B_i) + beta
// C_i.
//
//   A: `count` members of m x n, with values `stride` apart.  x: count x n.  y: count x m; or blocks of p columns,
//   count x n x p and count x m x p.  One launch for all members.
//
// The elements of all results are numbered consecutively, member after member, and a thread computes one of them. So
// many small members fill the GPU like a large one, and neighbouring threads read neighbouring values. A thread adds
// the terms of its sum in their order and writes once: no atomics, and every run gives the same bits. Members that are
// large enough to fill the GPU are multiplied one after the other, by the kernel for a single matrix.
#include "core/batch.hpp"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/matvec/terms.cuh"

namespace diagsparse {

namespace cuda::batch {

namespace {

using matvec::kTerms;  // terms that a block holds in shared memory at a time

constexpr int64 kSmallRows = 1 << 17;    // rows of y from which a launch for each member costs nothing
constexpr int64 kSmallResult = 1 << 21;  // elements of C on the longest diagonals; as above
constexpr int kAt = 4;                   // terms whose values a thread loads together

// The work item of a thread: item `number` of a member that has `each` items.
struct Item {
  int64 member;
  unsigned number;

  __device__ explicit Item(unsigned each) {
    const int64 start = static_cast<int64>(blockIdx.x) * kBlock, first = start / each;
    const unsigned from = static_cast<unsigned>(start - first * each) + threadIdx.x;
    member = first + from / each;
    number = from % each;
  }
};

// Calls f(first, members, grid) for as many members at a time as fit into a launch, with `each` items per member.
template <class F>
void by_launches(int64 count, int64 each, const F& f) {
  const int64 most = std::max<int64>(1, (int64{0x7fffffff} * kBlock) / std::max<int64>(1, each));
  for (int64 first = 0; first < count; first += most) {
    const int64 members = std::min(most, count - first);
    f(first, members, dim3(static_cast<unsigned>(ceil_div(members * each, kBlock))));
  }
}

// Distances between the values, vectors and results of successive members.
struct Strides {
  int64 u, v, out;
};

// A term in shared memory; small members have few enough rows for int.
struct SmallTerm {
  int64 u, v;
  int first, last;

  __device__ bool holds(int i) const { return i >= first && i < last; }
};

// A block holds the list of terms in shared memory; its threads may belong to several members.
template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    member_rows(const Term* terms, int count, const U* values, bool conj, const V* x, Product<U, V>* y, Strides strides,
                int64 members, unsigned each, unsigned columns, const __grid_constant__ Update<Product<U, V>> update) {
  __shared__ SmallTerm near[kTerms + kAt];  // padded, because threads read past the end
  const Item item(each);
  const bool active = item.member < members;
  const int i = static_cast<int>(columns == 1 ? item.number : item.number / columns);  // element number is in row i
  values += item.member * strides.u + i;
  x += item.member * strides.v + item.number;
  Product<U, V> sum{};
  for (int begin = 0; begin < count; begin += kTerms) {
    const int some = min(count - begin, kTerms);
    __syncthreads();
    for (int k = threadIdx.x; k < some; k += kBlock) {
      const Term term = terms[begin + k];
      near[k] = {term.u, term.v * columns, static_cast<int>(term.first), static_cast<int>(term.last)};
    }
    __syncthreads();
    for (int t = 0; active && t < some; t += kAt) {
      U u[kAt];
      V v[kAt];
#pragma unroll
      for (int k = 0; k < kAt; ++k) {
        if (t + k < some && near[t + k].holds(i)) {
          u[k] = load_once(values + near[t + k].u);
          v[k] = load(x + near[t + k].v);
        }
      }
#pragma unroll
      for (int k = 0; k < kAt; ++k) {
        if (t + k < some && near[t + k].holds(i)) sum += multiply(conjugate_if(conj, u[k]), v[k]);
      }
    }
  }
  if (active) update.one(y + item.member * strides.out + item.number, sum);
}

// `length` items for each diagonal of C; items past the end of shorter diagonals do nothing.
template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    member_diagonals(const Sum* sums, const Term* terms, unsigned each, unsigned length, const U* a, bool conj_a,
                     const V* b, bool conj_b, Product<U, V>* c, Strides strides, int64 members,
                     const __grid_constant__ Update<Product<U, V>> update) {
  const Item item(each);
  if (item.member >= members) return;
  const Sum sum = sums[item.number / length];
  const int64 i = sum.first + item.number % length;
  if (i >= sum.last) return;
  a += item.member * strides.u + i;
  b += item.member * strides.v + i;
  Product<U, V> total{};
  for (const Term *t = terms + sum.terms, *end = terms + sum.terms_end; t != end; ++t) {
    if (i >= t->first && i < t->last) {
      total += multiply(conjugate_if(conj_a, load(a + t->u)), conjugate_if(conj_b, load(b + t->v)));
    }
  }
  update.one(c + item.member * strides.out + sum.out + i, total);
}

template <class U, class V>
struct MemberRows {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y, int64 columns) {
    using T = Product<U, V>;
    const auto resident_data = matvec::resident_terms(a, op);
    const Strides strides{member_stride(a), x.row_stride, y.row_stride};
    by_launches(y.rows, y.cols, [&](int64 first, int64 members, dim3 grid) {
      launch("batch matvec", member_rows<U, V>, grid, dim3(kBlock), resident_data->terms_begin(), resident_data->count,
             a.values.as<U>() + first * strides.u, op.conjugated, x.as<V>() + first * strides.v,
             y.as<T>() + first * strides.out, strides, members, static_cast<unsigned>(y.cols),
             static_cast<unsigned>(columns), Update<T>(alpha, beta));
    });
  }
};

template <class U, class V>
struct MemberDiagonals {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const auto resident_data = resident_sums(plan);
    const Strides strides{member_stride(a), member_stride(b), member_stride(c)};
    const int64 length = std::min(plan.rows, plan.cols),
                each = length * static_cast<int64>(diagonal_work(plan).sums.sums.size());
    by_launches(c.values.shape.rows, each, [&](int64 first, int64 members, dim3 grid) {
      launch("batch matmul", member_diagonals<U, V>, grid, dim3(kBlock), resident_data->sums_begin(),
             resident_data->terms_begin(), static_cast<unsigned>(each), static_cast<unsigned>(length),
             a.values.as<U>() + first * strides.u, plan.op_a.conjugated, b.values.as<V>() + first * strides.v,
             plan.op_b.conjugated, c.values.as<T>() + first * strides.out, strides, members, Update<T>(alpha, beta));
    });
  }
};

template <class T>
__global__ void __launch_bounds__(kBlock)
    scale_values(const T* factors, int64 count, int64 size, bool interleaved, T* values) {
  const int64 k = thread_index();
  if (k < count * size) values[k] = multiply(values[k], factors[interleaved ? k % count : k / size]);
}

using MemberKernel = void (*)(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y,
                              int64 columns);

// Whether a product has small members, which `member_diagonals` computes in one launch.
bool small(const Plan& plan) {
  const auto sums = static_cast<int64>(diagonal_work(plan).sums.sums.size());
  return plan.kernel == "row" && std::min(plan.rows, plan.cols) * std::max<int64>(1, sums) < kSmallResult;
}

}  // namespace

}  // namespace cuda::batch

void batch_matvec(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y, int64 columns) {
  static const auto at_once = every_pair<cuda::batch::MemberRows, cuda::batch::MemberKernel>();
  const MatvecKernel one_by_one = matvec_kernel(find_matvec(a.format, ""), a.dtype, x.dtype);
  if (y.cols < cuda::batch::kSmallRows) return at_once(a.dtype, x.dtype)(a, op, alpha, x, beta, y, columns);
  for (int64 i = 0; i < y.rows; ++i) {
    one_by_one(member(a, i), op, alpha, member(x, i, columns), beta, member(y, i, columns));
  }
}

void scale_members(const Array& factors, bool interleaved, Array& values) {
  if (values.size() == 0) return;
  with_value_type(values.dtype, [&](auto zero) {
    using T = decltype(zero);
    const int64 count = factors.size();
    cuda::launch("scale members", cuda::batch::scale_values<T>, cuda::blocks(values.size()), dim3(cuda::kBlock),
                 factors.as<const T>(), count, values.size() / count, interleaved, values.as<T>());
  });
}

void batch_matmul(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
  static const auto at_once = every_pair<cuda::batch::MemberDiagonals, MatmulKernel>();
  if (c.values.size() == 0) return;
  if (cuda::batch::small(plan)) return at_once(a.dtype, b.dtype)(plan, a, b, alpha, beta, c);
  const MatmulKernel multiply = row_that_runs(*plan.row, plan, a.dtype, b.dtype).typed(a.dtype, b.dtype);
  for (int64 i = 0; i < c.values.shape.rows; ++i) {
    Matrix result = member(c, i);
    multiply(plan, member(a, i), member(b, i), alpha, beta, result);
  }
}

}  // namespace diagsparse
