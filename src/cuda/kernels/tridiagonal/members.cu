// Tridiagonal systems whose members are interleaved: the choice of kernels, and verification.
#include "kernels/tridiagonal/members.cuh"
#include "kernels/tridiagonal/members.hpp"

namespace diagsparse::cuda::tridiagonal {

namespace {

constexpr int kMostOnChip = 96 << 10;  // bytes of a block, so that two blocks fit on a multiprocessor

template <class T>
Members<T> members(const Batch& a) {
  return {values_or_null<T>(a.lower), a.main.as<T>(), values_or_null<T>(a.upper), a.n, a.count};
}

template <class T>
void solve_without_pivoting(const Batch& a, const T* b, T* x, int* weak) {
  const dim3 grid(static_cast<unsigned>(ceil_div(a.count, kLanes))), block(2 * kLanes);
  const int64 bytes = 2 * a.n * kLanes * static_cast<int64>(sizeof(T));
  if (bytes <= kMostOnChip && bytes <= limits<solve_members<T, true>>().shared) {
    launch_shared("tridiagonal_solve_members", solve_members<T, true>, grid, block, static_cast<int>(bytes),
                  members<T>(a), b, x, static_cast<T*>(nullptr), weak);
  } else {
    const Scratch<T> scratch(a.n * a.count);
    launch("tridiagonal_solve_members", solve_members<T, false>, grid, block, members<T>(a), b, x, scratch.get(), weak);
  }
}

template <class T>
Verdict solve_as(const Batch& a, const T* b, T* x, bool pivoting, bool verify) {
  using Found = unsigned long long;
  constexpr Found none = ~Found{0};
  const Scratch<Found> singular(1);
  const Scratch<int> weak(1);
  // b is still needed for verification.
  const Array copy = verify && b == x ? Array::empty(a.main.dtype, {a.n * a.count}) : Array();
  if (copy.size() > 0) CUDA_CALL(cudaMemcpyAsync(copy.data, b, copy.nbytes(), cudaMemcpyDeviceToDevice, stream()));
  if (copy.size() > 0) b = copy.as<const T>();
  CUDA_CALL(cudaMemsetAsync(weak.get(), 0, sizeof(int), stream()));
  CUDA_CALL(cudaMemsetAsync(singular.get(), 0xff, sizeof(Found), stream()));
  if (pivoting) {
    const Scratch<T> first(a.n * a.count), second(a.n * a.count);
    launch("tridiagonal_pivot_members", pivot_members<T>, blocks(a.count), dim3(kBlock), members<T>(a), b, x,
           first.get(), second.get(), singular.get());
  } else {
    solve_without_pivoting(a, b, x, weak.get());
  }
  if (!verify) return {};
  if (!pivoting && download(static_cast<const int*>(weak.get()), 1).front() == 0) return {};
  Verdict verdict;
  if (const Found at = download(static_cast<const Found*>(singular.get()), 1).front(); at != none) {
    verdict.singular_member = static_cast<int64>(at) / a.n;
    verdict.singular_row = static_cast<int64>(at) % a.n;
  } else {
    const int64 rows = a.n * a.count;
    const Members<T> m = members<T>(a);
    verdict.inaccurate = first_inaccurate<T>({m.lower, m.main, m.upper, rows, rows, 0, a.count}, a.count, b, x);
  }
  return verdict;
}

}  // namespace

Verdict solve(const Batch& a, const Array& b, const Array& x, bool pivoting, bool verify) {
  if (a.n * a.count == 0) return {};
  return with_value_type(a.main.dtype, [&](auto zero) {
    using T = decltype(zero);
    return solve_as<T>(a, b.as<const T>(), x.as<T>(), pivoting, verify);
  });
}

Verdict solve_random(const Batch& a, bool pivoting) {
  const int64 rows = a.n * a.count;
  if (rows == 0) return {};
  const Array b = Array::empty(a.main.dtype, {rows}), x = Array::empty(a.main.dtype, {rows});
  return with_value_type(a.main.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("tridiagonal_write_random", write_random<T>, blocks(rows), dim3(kBlock), b.as<T>(), rows);
    return solve_as<T>(a, b.as<const T>(), x.as<T>(), pivoting, true);
  });
}

}  // namespace diagsparse::cuda::tridiagonal
