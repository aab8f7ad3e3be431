// Substitution with diagonals on a GPU.
//
//   x[i] = (x[i] - sum of a_k[i] x[i -+ d_k]) inverse[i], from far diagonals to near ones; x: n x columns, F order.
//
// Both kernels compute every row in the same way on every run.
#include <cuda_pipeline_primitives.h>

#include "device/cuda.hpp"
#include "device/launch.cuh"
#include "kernels/triangles/triangle.hpp"

namespace diagsparse::cuda::triangles {

namespace {

constexpr int kMostTerms = 32;   // of the kernel `blocks`
constexpr int kMostInLines = 4;  // of the kernel `lines`
constexpr int kHistory = 4;      // steps for which a warp keeps its results in registers
constexpr int64 kFewestLines = 64;
constexpr int64 kFewBlocks = 64;  // one after the other that are faster than anything else

// Row q of the order of substitution.
struct Rows {
  int64 count;
  bool lower;
  __host__ __device__ int64 row(int64 q) const { return lower ? q : count - 1 - q; }
  __host__ __device__ int64 sign() const { return lower ? -1 : 1; }  // of the way to rows that a row depends on
};

template <class T>
__device__ T minus_product(T sum, T a, T x) {
  const T p = multiply(a, x);
  if constexpr (is_complex<T>) return {sum.re - p.re, sum.im - p.im};
  else return sum - p;
}

// Flags in global memory, and values that another multiprocessor has written.
__device__ inline unsigned acquire(const unsigned* p) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void release(unsigned* p, unsigned v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
template <class T>
__device__ T from_l2(const T* p) {
  if constexpr (is_complex<T>) return {__ldcg(&p->re), __ldcg(&p->im)};
  else return __ldcg(p);
}

// ---- blocks: a thread computes a row, a block of threads at most as many as do not depend on each other
// ---------------
template <class T>
struct Blocks {
  const T* values;
  const T* inverse;
  Rows rows;
  bool conjugated;
  int64 in_block;  // rows
  int count;
  int64 distance[kMostTerms], first[kMostTerms];
};

// A block waits for those that have computed the rows that it needs. `state` has the number of blocks that were
// started, and for each block whether it is done. Blocks start in order, so those that one waits for are running.
template <class T>
__global__ void __launch_bounds__(kBlock)
    substitute_blocks(const __grid_constant__ Blocks<T> t, T* x, int64 lead, unsigned* state, int64 blocks) {
  constexpr int kEarly = 4;  // diagonals that are read before it waits
  __shared__ unsigned ticket;
  x += blockIdx.y * lead;
  state += blockIdx.y * (blocks + 1);
  unsigned* const done = state + 1;
  if (threadIdx.x == 0) ticket = atomicAdd(state, 1u);
  __syncthreads();
  const int64 begin = ticket * t.in_block, q = begin + threadIdx.x;
  const bool inside = threadIdx.x < t.in_block && q < t.rows.count;
  const int64 i = inside ? t.rows.row(q) : 0;
  const auto element = [&](int k) {
    return inside && t.distance[k] <= q ? conjugate_if(t.conjugated, t.values[t.first[k] + i]) : T{};
  };
  T early[kEarly];
#pragma unroll
  for (int k = 0; k < kEarly; ++k) early[k] = k < t.count ? element(k) : T{};
  T sum = inside ? x[i] : T{};
  const T inverse = inside && t.inverse ? conjugate_if(t.conjugated, t.inverse[i]) : T{};
  for (int k = 0; k < t.count; ++k) {
    const int64 last = begin + t.in_block - 1 - t.distance[k];  // row that is needed
    if (last < 0) continue;
    if (threadIdx.x == 0) {
      const int64 low = max(int64{0}, begin - t.distance[k]) / t.in_block;
      while (acquire(done + low) == 0) {
      }
      while (acquire(done + last / t.in_block) == 0) {
      }
    }
    __syncthreads();
    T a = early[0];
#pragma unroll
    for (int e = 1; e < kEarly; ++e) a = k == e ? early[e] : a;
    if (k >= kEarly) a = element(k);
    if (inside && t.distance[k] <= q) sum = minus_product(sum, a, from_l2(x + i + t.rows.sign() * t.distance[k]));
  }
  if (inside) x[i] = t.inverse ? multiply(inverse, sum) : sum;
  __syncthreads();
  if (threadIdx.x == 0) release(done + ticket, 1);
}

// ---- lines: a lane computes a line, a warp 32 of them ------------------------------------------------------------
template <class T>
struct Lines {
  const T* values;
  const T* inverse;
  Rows rows;
  bool conjugated;
  int64 line, skew, all;  // rows in a line, and the number of lines
  Term terms[kMostInLines];
};

template <class T>
__device__ T from_lane_before(T v, int lanes) {
  if constexpr (is_complex<T>) {
    return {__shfl_up_sync(~0u, v.re, lanes), __shfl_up_sync(~0u, v.im, lanes)};
  } else {
    return __shfl_up_sync(~0u, v, lanes);
  }
}

// Steps whose operands are in shared memory at once, for a number of diagonals.
constexpr int steps_at_once(int count) { return count > 2 ? 8 : 16; }
constexpr int kPitch = 33;     // of a step in shared memory: without conflicts in both directions
constexpr int kLoaders = 128;  // threads that load, in addition to the warp that computes

// Elements of the two buffers.
constexpr int shared_elements(int count) { return 2 * (count + 2) * steps_at_once(count) * kPitch; }

// In step s, lane l of a group of lines is at position s - l skew. The first warp computes; the others load what the
// next steps need of the diagonals, the right-hand side and the reciprocals. `state` has the number of groups that were
// started, and for each group the number of steps that it has completed. Groups start in order, so the one before is
// running.
template <class T, int Count>
__global__ void __launch_bounds__(32 + kLoaders)
    substitute_lines(const __grid_constant__ Lines<T> t, T* x, int64 lead, unsigned* state, int64 groups) {
  constexpr int kSteps = steps_at_once(Count), kTile = kSteps * kPitch, kStreams = Count + 2;
  extern __shared__ __align__(16) unsigned char shared[];
  T* const buffers = reinterpret_cast<T*>(shared);  // [2][kStreams][kSteps][kPitch]
  __shared__ unsigned ticket;
  x += blockIdx.y * lead;
  state += blockIdx.y * (groups + 1);
  unsigned* const done = state + 1;
  if (threadIdx.x == 0) ticket = atomicAdd(state, 1u);
  __syncthreads();
  const int64 group = ticket, total = t.line + 31 * t.skew;

  // The loaders' part: a thread loads some positions of lines, neighbouring threads neighbouring positions.
  const auto load = [&](int64 base, T* to) {
    for (int e = static_cast<int>(threadIdx.x) - 32; e < 32 * kSteps; e += kLoaders) {
      const int u = e % kSteps, l = e / kSteps;
      const int64 j = 32 * group + l, p = base + u - l * t.skew, q = j * t.line + p;
      const bool inside = j < t.all && p >= 0 && p < t.line && q < t.rows.count;
      const int64 i = inside ? t.rows.row(q) : 0;
      T* const at = to + u * kPitch + l;
#pragma unroll
      for (int k = 0; k < Count; ++k) {
        const bool has = inside && t.terms[k].distance <= q && t.terms[k].ahead <= p;
        __pipeline_memcpy_async(at + k * kTile, has ? t.values + t.terms[k].first + i : x, sizeof(T),
                                has ? 0 : sizeof(T));
      }
      if (t.inverse) {
        __pipeline_memcpy_async(at + Count * kTile, t.inverse + i, sizeof(T), inside ? 0 : sizeof(T));
      }
      __pipeline_memcpy_async(at + (Count + 1) * kTile, x + i, sizeof(T), inside ? 0 : sizeof(T));
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
  };
  if (threadIdx.x >= 32) {
    load(0, buffers);
    __syncthreads();
    for (int64 base = 0, n = 1; base < total; base += kSteps, ++n) {
      if (base > 0 && threadIdx.x == 32) release(done + group, static_cast<unsigned>(base));
      if (base + kSteps < total) load(base + kSteps, buffers + n % 2 * kStreams * kTile);
      __syncthreads();
    }
    if (threadIdx.x == 32) release(done + group, static_cast<unsigned>(total));
    return;
  }

  const int lane = threadIdx.x;
  const int64 sign = t.rows.sign(), j = 32 * group + lane, first = j * t.line;
  const int64 length = j < t.all ? min(t.line, t.rows.count - first) : 0;
  int delay[Count];       // steps since the other row was computed
  int64 ahead = -t.line;  // by how many steps the group before this one has to be further
  for (int k = 0; k < Count; ++k) {
    const Term& term = t.terms[k];
    delay[k] = static_cast<int>(term.ahead + term.lines * t.skew);
    if (term.lines > 0) ahead = max(ahead, t.skew * (32 - term.lines) - term.ahead);
  }
  int64 seen = 0;
  const auto clamped = [](int64 v) { return static_cast<int>(max(int64{0}, min(v, int64{kSteps}))); };

  T history[kHistory] = {};
  __syncthreads();
  for (int64 base = 0, n = 0; base < total; base += kSteps, ++n) {
    const T* const tile = buffers + n % 2 * kStreams * kTile + lane;
    const int64 p = base - lane * t.skew, q = first + p;
    const int begin = clamped(-p), end = clamped(length - p);       // the steps in which the lane is inside of its line
    T* const here = x + (t.rows.lower ? q : t.rows.count - 1 - q);  // of the first step; in a line, rows go on by -sign
    T other[Count][kSteps];
    if (group > 0 && ahead >= 0) {
      while (seen < min(total, base + kSteps + ahead)) seen = acquire(done + group - 1);
    }
#pragma unroll
    for (int k = 0; k < Count; ++k) {  // rows of the group before
      const Term& term = t.terms[k];
      const int low = lane < term.lines ? max(begin, clamped(max(term.ahead - p, term.distance - q))) : kSteps;
#pragma unroll
      for (int u = 0; u < kSteps; ++u) {
        other[k][u] = u >= low && u < end ? from_l2(here + sign * (term.distance - u)) : T{};
      }
    }
#pragma unroll
    for (int u = 0; u < kSteps; ++u) {
      T sum = tile[(Count + 1) * kTile + u * kPitch];
#pragma unroll
      for (int k = 0; k < Count; ++k) {
        T own = history[0];
#pragma unroll
        for (int h = 1; h < kHistory; ++h) own = delay[k] == h + 1 ? history[h] : own;
        T v = from_lane_before(own, static_cast<int>(t.terms[k].lines));
        if (lane < t.terms[k].lines) v = other[k][u];
        sum = minus_product(sum, conjugate_if(t.conjugated, tile[k * kTile + u * kPitch]), v);
      }
      if (t.inverse) sum = multiply(conjugate_if(t.conjugated, tile[Count * kTile + u * kPitch]), sum);
      const bool inside = u >= begin && u < end;
#pragma unroll
      for (int h = kHistory - 1; h > 0; --h) history[h] = history[h - 1];
      history[0] = inside ? sum : T{};
      if (inside) here[-sign * u] = sum;
    }
    __syncthreads();
  }
}

// Counts the nonzeros of a diagonal at `count` positions of each line, from `first` on.
template <class T>
__global__ void __launch_bounds__(kBlock)
    count_positions(const T* values, Rows rows, int64 line, int64 first, int64 count, int64 distance, unsigned* found) {
  const int64 item = thread_index(), q = item / count * line + first + item % count;
  if (q < rows.count && q >= distance && !is_zero(values[rows.row(q)])) atomicAdd(found, 1u);
}

// Whether a diagonal is zero where it would lead from the start of a line to the end of another one, or vice versa.
template <class T>
bool stays_in_lines(const T* values, const Rows& rows, int64 line, const Term& term) {
  if (term.ahead == 0) return true;
  const int64 count = std::abs(term.ahead), first = term.ahead > 0 ? 0 : line - count;
  const Array found = Array::zeros(DType::i32, {1});
  launch("count_positions", count_positions<T>, blocks(ceil_div(rows.count, line) * count), dim3(kBlock),
         values + term.first, rows, line, first, count, term.distance, found.as<unsigned>());
  return element<unsigned>(found, 0) == 0;
}

class OfDiagonals : public Triangle {
 public:
  OfDiagonals(const Matrix& a, Op op, bool lower, const Array& inverse, std::vector<Term> terms)
      : Triangle(a, inverse), op_(op), rows_{a.rows, lower}, terms_(std::move(terms)) {
    if (!terms_.empty()) nearest_ = terms_.back().distance;
  }
  const char* order() const override { return line_ > 0 ? "lines" : "blocks"; }
  int64 nbytes() const override { return inverse.nbytes(); }

  bool possible() {
    if (terms_.empty()) return true;
    if (nearest_ >= kBlock || rows_.count / nearest_ <= kFewBlocks) return terms_.size() <= kMostTerms;
    return with_value_type(matrix.dtype, [&](auto zero) { return find_lines<decltype(zero)>(); });
  }

  void solve(const Dense& x) override {
    constexpr int64 kMostColumns = 1 << 15;  // of a launch
    if (rows_.count == 0 || x.cols == 0) return;
    if (x.cols > kMostColumns) {
      for (int64 c = 0; c < x.cols; c += kMostColumns) {
        Dense some = x;
        some.data = x.as<char>() + c * x.col_stride * item_size(x.dtype);
        some.cols = std::min(kMostColumns, x.cols - c);
        solve(some);
      }
      return;
    }
    with_value_type(matrix.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (line_ == 0) return by_blocks<T>(x);
      switch (terms_.size()) {
        case 1: return by_lines<T, 1>(x);
        case 2: return by_lines<T, 2>(x);
        case 3: return by_lines<T, 3>(x);
        default: return by_lines<T, 4>(x);
      }
    });
  }

 private:
  template <class T>
  const T* reciprocals() const {
    return inverse.size() ? inverse.as<T>() : nullptr;
  }
  static int64 lead(const Dense& x) { return x.cols > 1 ? x.col_stride : x.rows; }

  // The shortest lines, because there are most of them.
  template <class T>
  bool find_lines() {
    if (terms_.size() > kMostInLines) return false;
    for (std::size_t at = terms_.size(); at-- > 0;) {
      const int64 line = terms_[at].distance;
      if (line < 64 || rows_.count / line < kFewestLines) continue;
      std::vector<Term> terms = terms_;
      int64 skew = 1;
      for (Term& term : terms) {
        term.lines = (term.distance + line / 2) / line;
        term.ahead = term.distance - term.lines * line;
        if (term.lines > 0) skew = std::max(skew, (term.lines - term.ahead) / term.lines);
      }
      bool valid = 32 * skew <= line;
      for (const Term& term : terms) {
        if (!valid) break;
        // With lines further away (grids with three axes), a level has many rows, and cuSPARSE is faster: 0.8 ms
        // instead of 6.9 ms for 7 points on 128^3 on an H200.
        valid = term.ahead + term.lines * skew <= kHistory && stays_in_lines(matrix.values.as<T>(), rows_, line, term);
      }
      if (!valid) continue;
      terms_ = std::move(terms);
      line_ = line;
      skew_ = skew;
      return true;
    }
    return false;
  }

  template <class T, int Count>
  void by_lines(const Dense& x) {
    Lines<T> t{
        matrix.values.as<T>(), reciprocals<T>(), rows_, op_.conjugated, line_, skew_, ceil_div(rows_.count, line_), {}};
    std::copy(terms_.begin(), terms_.end(), t.terms);
    const int64 groups = ceil_div(t.all, 32);
    const Array state = Array::zeros(DType::i32, {(groups + 1) * x.cols});
    limits<substitute_lines<T, Count>>();  // allows as much shared memory as there is
    launch_shared("substitute_lines", substitute_lines<T, Count>,
                  dim3(static_cast<unsigned>(groups), static_cast<unsigned>(x.cols)), dim3(32 + kLoaders),
                  shared_elements(Count) * static_cast<int>(sizeof(T)), t, x.as<T>(), lead(x), state.as<unsigned>(),
                  groups);
  }

  template <class T>
  void by_blocks(const Dense& x) {
    Blocks<T> t{
        matrix.values.as<T>(), reciprocals<T>(), rows_, op_.conjugated, 0, static_cast<int>(terms_.size()), {}, {}};
    for (int k = 0; k < t.count; ++k) {
      t.distance[k] = terms_[k].distance;
      t.first[k] = terms_[k].first;
    }
    t.in_block = std::min<int64>(kBlock, terms_.empty() ? kBlock : nearest_);
    const int64 blocks = ceil_div(rows_.count, t.in_block);
    const Array state = Array::zeros(DType::i32, {(blocks + 1) * x.cols});
    launch("substitute_blocks", substitute_blocks<T>,
           dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(x.cols)), dim3(kBlock), t, x.as<T>(), lead(x),
           state.as<unsigned>(), blocks);
  }

  Op op_;
  Rows rows_;
  std::vector<Term> terms_;
  int64 nearest_ = 0, line_ = 0, skew_ = 0;
};

}  // namespace

std::unique_ptr<Triangle> of_diagonals(const Matrix& a, Op op, bool lower, const Array& inverse,
                                       const std::vector<int64>& offsets) {
  std::vector<Term> terms;
  for (const Span& s : spans_of(a.layout(), op)) {
    if (lower ? s.offset >= 0 : s.offset <= 0) continue;
    if (std::find(offsets.begin(), offsets.end(), s.offset) == offsets.end()) continue;
    terms.push_back({std::abs(s.offset), s.start - s.row});
  }
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return x.distance > y.distance; });
  auto result = std::make_unique<OfDiagonals>(a, op, lower, inverse, std::move(terms));
  if (!result->possible()) return nullptr;
  return result;
}

}  // namespace diagsparse::cuda::triangles
