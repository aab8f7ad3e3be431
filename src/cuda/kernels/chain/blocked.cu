// Kernel "blocked" of dia, hm and cdm: the sum of a recurrence in op(A), several steps in one pass over A (the matrix
// powers kernel with ghost zones of Demmel, Hoemmen, Mohiyuddin and Yelick, IPDPS 2008).
//
//   A: n x n, D diagonals that reach `below` and `above` rows.  x, y: n (columns of a block one after the other).
//   Bytes at least: A + x + y for each pass of s steps, whereas "steps" reads A in every step.
//
// A thread block processes neighbouring rows. It loads their part of A and of the last two vectors into shared memory,
// including the ghost rows: the last step computes only the block's own rows, the step before also `below` rows in
// front and `above` rows behind them, and so on. Neighbouring blocks compute the ghost rows again. In each step a
// thread computes every kThreads-th row and loops over the diagonals; the threads of a warp read neighbouring elements,
// in global and in shared memory. Only the last two vectors are written back, and the sum y, which is in shared memory
// during the pass. The kernel wins if there are few ghost rows relative to the rows that fit. It does the same as
// "steps" if no number of steps is faster, for packed layouts, and for 16-bit values. The order of the sums depends
// only on the matrix and the device: every run gives the same bits.
#include "core/recurrence.hpp"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/chain/partners.cuh"
#include "kernels/diagonals/kernels.hpp"

namespace diagsparse::cuda::chain {

namespace {

constexpr int kThreads = 512;
constexpr int kMostSteps = 16;

// The factors of a step; a vector whose factor is zero is not read.
template <class T>
struct Step {
  Factor<T> alpha{1.0}, beta{0.0}, gamma{0.0}, c{0.0};
  bool stays = false, back = false, counts = false;

  Step() = default;
  Step(Scalar a, Scalar b, Scalar g, Scalar coefficient)
      : alpha(a), beta(b), gamma(g), c(coefficient), stays(b != 0.0), back(g != 0.0), counts(coefficient != 0.0) {}
};

// How a block's rows are stored in shared memory: two vectors of `width`, y of `rows`, A's diagonals of `depth`.
struct Cut {
  int steps = 1, rows = 0, below = 0, above = 0, count = 0;
  bool around = false;

  __host__ __device__ int ghost_rows(int steps_left) const { return steps_left * (below + above); }
  __host__ __device__ int width() const { return rows + ghost_rows(steps); }
  __host__ __device__ int depth() const { return rows + ghost_rows(steps - 1); }
};

template <class U, class T>
int64 shared_bytes(const Cut& cut) {
  const int64 item = sizeof(T), value = sizeof(U), entry = sizeof(Partner);
  return item * (2 * cut.width() + cut.rows) + cut.count * (entry + value * cut.depth());
}

template <class T>
struct PassOnDevice {
  const T *v, *before;
  T *v_out, *before_out, *y;
  bool fresh, has_start;
  Factor<T> start;
  Step<T> step[kMostSteps];

  PassOnDevice(const Recurrence& r, const Pass<T>& p)
      : v(p.v),
        before(p.before),
        v_out(p.v_out),
        before_out(p.before_out),
        y(p.y),
        fresh(p.fresh),
        has_start(p.start != 0.0),
        start(p.start) {
    for (int64 j = p.first; j < p.first + p.steps; ++j) {
      step[j - p.first] = Step<T>(r.alpha[j], r.beta[j], r.back(j), r.c[j + 1]);
    }
  }
};

// The rows [first, last) of a block, as all of its threads see them: where their data is in shared memory, and which
// rows are there. Rows of the two vectors count from v_first, those of A from a_first, those of y from first. Ghost
// rows are inside the matrix, or wrap around: then row i < 0 is row n + i, and row i >= n is row i - n.
template <class U, class T>
struct Trapezoid {
  const Cut& cut;
  const PassOnDevice<T>& pass;
  int64 n, first, last, v_first, a_first;
  int a_rows;
  Bits<T>*now, *other, *total;
  Partner* partners;
  Bits<U>* a;

  __device__ Trapezoid(const Cut& cut, const PassOnDevice<T>& pass, int64 n, unsigned char* memory)
      : cut(cut), pass(pass), n(n) {
    first = static_cast<int64>(blockIdx.x) * cut.rows;
    last = min(n, first + cut.rows);
    v_first = begin_with(cut.steps);
    a_first = begin_with(cut.steps - 1);
    a_rows = static_cast<int>(end_with(cut.steps - 1) - a_first);
    partners = reinterpret_cast<Partner*>(memory);  // the items with the largest alignment first
    now = reinterpret_cast<Bits<T>*>(partners + cut.count);
    other = now + cut.width();
    total = other + cut.width();
    a = reinterpret_cast<Bits<U>*>(total + cut.rows);
  }

  // The rows that are needed when this many steps remain.
  __device__ int64 begin_with(int left) const {
    const int64 begin = first - static_cast<int64>(left) * cut.below;
    return cut.around ? begin : max(int64{0}, begin);
  }
  __device__ int64 end_with(int left) const {
    const int64 end = last + static_cast<int64>(left) * cut.above;
    return cut.around ? end : min(n, end);
  }
  __device__ int64 within(int64 i) const {
    while (i < 0) i += n;
    while (i >= n) i -= n;
    return i;
  }

  __device__ void load_vectors() {
    const int count = static_cast<int>(end_with(cut.steps) - v_first);
    for (int i = threadIdx.x; i < count; i += kThreads) {
      const int64 row = within(v_first + i);
      now[i] = to_bits(load(pass.v + row));
      if (pass.before) other[i] = to_bits(load(pass.before + row));
    }
    if (!pass.y) return;
    for (int i = threadIdx.x; i < static_cast<int>(last - first); i += kThreads) {
      T sum{};
      if (!pass.fresh) sum = pass.y[first + i];
      else if (pass.has_start) sum = pass.start * load(pass.v + first + i);
      total[i] = to_bits(sum);
    }
  }

  // Returns whether each of the partners is stored in all rows of the block's part of A. Synchronizes all threads.
  __device__ bool load_partners(const Partner* from) {
    bool complete = true;
    for (int k = threadIdx.x; k < cut.count; k += kThreads) {
      partners[k] = from[k];
      complete = complete && partners[k].holds(a_first, a_first + a_rows, n);
    }
    return __syncthreads_and(complete);
  }

  template <bool Complete>
  __device__ void load_values(const U* values, bool conj) {
    for (int i = threadIdx.x; i < a_rows; i += kThreads) {
      const int64 row = within(a_first + i);
#pragma unroll 8
      for (int k = 0; k < cut.count; ++k) {
        const int64 position = partners[k].position(row);
        if (Complete || position >= 0)
          a[k * cut.depth() + i] = to_bits(conjugate_if(conj, load_once(values + position)));
      }
    }
  }

  template <bool Complete>
  __device__ void step(const Step<T>& step, int left) {
    const int end = static_cast<int>(end_with(left) - a_first), shift = static_cast<int>(a_first - v_first);
    const int own = static_cast<int>(first - a_first), own_end = static_cast<int>(last - a_first);
    for (int i = static_cast<int>(begin_with(left) - a_first) + threadIdx.x; i < end; i += kThreads) {
      const Bits<T>* v = now + (i + shift);
      const int64 row = Complete ? 0 : within(a_first + i);
      T sum{};
#pragma unroll 8
      for (int k = 0; k < cut.count; ++k) {
        if (Complete || partners[k].position(row) >= 0) {
          sum += multiply(from_bits<U>(a[k * cut.depth() + i]), from_bits<T>(v[partners[k].offset]));
        }
      }
      T next = step.alpha * sum;
      if (step.stays) next += step.beta * from_bits<T>(*v);
      if (step.back) next += step.gamma * from_bits<T>(other[i + shift]);
      other[i + shift] = to_bits(next);  // no other thread reads this element in this step
      if (pass.y && step.counts && i >= own && i < own_end) {
        total[i - own] = to_bits(from_bits<T>(total[i - own]) + step.c * next);
      }
    }
    __syncthreads();
    Bits<T>* const result = other;
    other = now;
    now = result;
  }

  template <bool Complete>
  __device__ void run(const U* values, bool conj) {
    load_values<Complete>(values, conj);
    __syncthreads();
    for (int t = 0; t < cut.steps; ++t) step<Complete>(pass.step[t], cut.steps - 1 - t);
  }

  __device__ void write_back() {
    const int shift = static_cast<int>(first - v_first);
    for (int i = threadIdx.x; i < static_cast<int>(last - first); i += kThreads) {
      if (pass.v_out) pass.v_out[first + i] = from_bits<T>(now[shift + i]);
      if (pass.before_out) pass.before_out[first + i] = from_bits<T>(other[shift + i]);
      if (pass.y) pass.y[first + i] = from_bits<T>(total[i]);
    }
  }
};

template <class U, class T>
__global__ void __launch_bounds__(kThreads, 2)
    chain_pass(const Partner* partners, const U* values, bool conj, int64 n, const __grid_constant__ Cut cut,
               const __grid_constant__ PassOnDevice<T> pass) {
  extern __shared__ __align__(16) unsigned char memory[];
  Trapezoid<U, T> rows(cut, pass, n, memory);
  rows.load_vectors();
  if (rows.load_partners(partners)) rows.template run<true>(values, conj);
  else rows.template run<false>(values, conj);
  rows.write_back();
}

// Chooses the number of steps per pass that minimizes the cost of a step. Two blocks are resident on each
// multiprocessor, so that one computes while the other waits for memory; for small matrices, blocks have fewer rows, so
// that every multiprocessor has two. The cost model, in microseconds on an H200, was fitted to 8 steps with bands of 5
// to 41 diagonals at n = 10^4 .. 3 x 10^6 (n = 10^6, 11 diagonals, float64: "steps" 28, "blocked" 19 a step; 41
// diagonals: 87 and 135, so these are not blocked).
template <class U, class T>
Cut choose_cut(int64 k, int64 n, const ResidentPartners& partners, const Limits& device) {
  constexpr double kLaunch = 4, kCopied = 4.3e6;  // us per launch; bytes per us
  constexpr int kRowsPerGhostRow = 4;             // least number of rows per ghost row
  constexpr int64 kReserved = 1024;               // bytes per block that the system reserves
  const int64 capacity = (device.shared - kReserved) / 2;
  const int64 fair = std::max<int64>(kThreads / 2, ceil_div(n, 2 * device.multiprocessors));
  Cut best;
  if (partners.below + partners.above > capacity || partners.count > capacity)
    return best;  // from here on everything fits into an int
  const auto count = static_cast<double>(partners.count), rows = static_cast<double>(n);
  const double memory = rows * (count * sizeof(U) + 2 * sizeof(T)) / kCopied;
  const double cached = rows * (7 + 0.09 * count * sizeof(U)) * 1e-6;
  double least = kLaunch + memory;
  for (int s = 2; s <= std::min<int64>(k, kMostSteps); ++s) {
    Cut cut{s, 0, 0, 0, static_cast<int>(partners.count), partners.around};
    cut.below = static_cast<int>(partners.below);
    cut.above = static_cast<int>(partners.above);
    const int64 ghost_rows = cut.ghost_rows(s - 1), fixed = shared_bytes<U, T>(cut);
    const int64 each = static_cast<int64>(3 * sizeof(T) + partners.count * sizeof(U));
    if (fixed >= capacity) break;
    cut.rows = static_cast<int>(std::min((capacity - fixed) / each, std::max(fair, kRowsPerGhostRow * ghost_rows)));
    if (cut.rows < kRowsPerGhostRow * ghost_rows) break;
    const double part = static_cast<double>(ghost_rows) / cut.rows;
    const double cost = (kLaunch + memory * (1 + part)) / s + cached * (1 + part / 2);
    if (cost < least) best = cut, least = cost;
  }
  return best;
}

template <class U, class T>
struct Blocked {
  static void run(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y) {
    if (sizeof(U) == 2 || a.layout().packing) return run_steps(a, op, r, x, y);
    if constexpr (sizeof(U) > 2) run_passes(a, op, r, x, y);
  }

 private:
  static void run_passes(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y) {
    const int64 n = x.rows;
    const auto partners = cached<ResidentPartners>(a.layout().cache(), op.transposed ? "chain T" : "chain N", [&] {
      return std::make_shared<ResidentPartners>(Neighbours(row_sums(spans_of(a.layout(), op)), n, true));
    });
    constexpr auto kernel = chain_pass<U, T>;
    const Cut cut = choose_cut<U, T>(r.steps(), n, *partners, limits<kernel>());
    if (cut.steps < 2) return run_steps(a, op, r, x, y);
    in_passes<T>(r, cut.steps, x, y, [&](const Pass<T>& pass) {
      Cut here = cut;
      here.steps = static_cast<int>(pass.steps);
      launch_shared("chain blocked", kernel, dim3(static_cast<unsigned>(ceil_div(n, cut.rows))), dim3(kThreads),
                    static_cast<int>(shared_bytes<U, T>(here)), partners->begin(), a.values.as<const U>(),
                    op.conjugated, n, here, PassOnDevice<T>(r, pass));
    });
  }
};

}  // namespace

ChainRow blocked() { return {"blocked", every_stored_pair<Blocked, ChainKernel>()}; }

}  // namespace diagsparse::cuda::chain
