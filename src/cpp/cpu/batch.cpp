// Batches on the CPU: the default kernel for each member. Small members are distributed among the threads; on a large
// member, all threads work together. No sum depends on that, so the result is bitwise the same as member by member.
#include "core/batch.hpp"

#include "core/sampled.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

namespace {

constexpr int64 kRunWork = 1 << 14;  // multiply-adds of the members that a task processes

// Calls f(first, last) for runs of members, where each member needs `work` multiply-adds.
template <class F>
void by_members(int64 count, int64 work, const F& f) {
  if (work >= kSerialWork) return f(0, count);
  const int64 each = std::max<int64>(1, kRunWork / std::max<int64>(1, work));
  parallel_for((count + each - 1) / each, count * work,
               [&](int64 run) { f(run * each, std::min(count, (run + 1) * each)); });
}

// Makes `one` the next member, which is cheaper than constructing another Matrix.
void advance(Matrix& one, int64 stride) { one.values.data = one.values.as<char>() + stride * item_size(one.dtype); }

}  // namespace

void batch_matvec(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y, int64 columns) {
  const MatvecKernel multiply = matvec_kernel(find_matvec(a.format, ""), a.dtype, x.dtype);
  const int64 stride = member_stride(a);
  by_members(y.rows, a.structure->stored() * columns, [&](int64 first, int64 last) {
    Matrix one = member(a, first);
    for (int64 i = first; i < last; ++i, advance(one, stride)) {
      multiply(one, op, alpha, member(x, i, columns), beta, member(y, i, columns));
    }
  });
}

void batch_matmul(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
  if (c.values.size() == 0) return;
  const MatmulKernel multiply = row_that_runs(*plan.row, plan, a.dtype, b.dtype).typed(a.dtype, b.dtype);
  const int64 of_a = member_stride(a), of_b = member_stride(b), of_c = member_stride(c);
  by_members(c.values.shape.rows, plan.work->operations(), [&](int64 first, int64 last) {
    Matrix left = member(a, first), right = member(b, first), result = member(c, first);
    for (int64 i = first; i < last; ++i) {
      multiply(plan, left, right, alpha, beta, result);
      advance(left, of_a);
      advance(right, of_b);
      advance(result, of_c);
    }
  });
}

void batch_sampled_product(const Dense& x, const Dense& y, int64 columns, Matrix& c) {
  const SampledKernel run = sampled_kernel(c.format, c.dtype);
  const int64 stride = member_stride(c);
  by_members(c.values.shape.rows, c.structure->stored() * columns, [&](int64 first, int64 last) {
    Matrix one = member(c, first);
    for (int64 i = first; i < last; ++i, advance(one, stride)) run(member(x, i, columns), member(y, i, columns), one);
  });
}

void scale_members(const Array& factors, bool interleaved, Array& values) {
  const int64 count = factors.size();
  if (values.size() == 0) return;
  const int64 size = values.size() / count, rows = interleaved ? size : count, length = interleaved ? count : size;
  with_value_type(values.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const factor = factors.as<T>();
    const int64 each = std::max<int64>(1, kRunWork / length);
    parallel_for((rows + each - 1) / each, values.size(), [&](int64 run) {
      for (int64 r = run * each; r < std::min(rows, (run + 1) * each); ++r) {
        T* const row = values.as<T>() + r * length;
        for (int64 k = 0; k < length; ++k) row[k] = multiply(row[k], factor[interleaved ? k : r]);
      }
    });
  });
}

}  // namespace diagsparse
