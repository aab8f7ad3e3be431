// Kernel "blocked" of dia, hm and cdm: the sum of a recurrence in op(A), several steps in one pass over A (the matrix
// powers kernel with ghost zones of Demmel, Hoemmen, Mohiyuddin and Yelick, IPDPS 2008).
//
//   A: n x n, D diagonals that reach `below` and `above` rows.  x, y: n (columns of a block one after the other).
//   Minimum traffic in bytes: A + x + y for each pass of s steps, whereas "steps" reads A in every step.
//
// A thread processes blocks of rows whose part of A fits the cache. The last step computes the rows of the block. The
// step before computes also `below` more rows in front and `above` more behind, and so on: a trapezoid, whose slopes
// the neighbouring blocks compute, too. Each block has its own two windows of the vectors; only the last two vectors of
// a pass are written back. This wins if the slopes are short compared to the block. If no number of steps is worth it,
// and for packed layouts and 16-bit values, it falls back to "steps". Blocks and tiles depend on the matrix only, so
// the result is bitwise the same for any number of threads. The products have the bits of those of "steps".
#include "core/recurrence.hpp"
#include "cpu/parallel.hpp"
#include "kernels/simd/diagonal_kernels.hpp"
#include "kernels/simd/row_tiles.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kCache = 1 << 20;  // bytes of a block with its slopes: half the L2 cache of a server
constexpr int64 kTile = 1024;      // rows whose sums stay in the L1 cache until the step completes

// Calls f(S{}) for the narrowest type S that represents these factors of values of type T.
template <class T, class F>
void with_factor_type(std::initializer_list<Scalar> factors, const F& f) {
  const auto is_real = [](Scalar s) { return s.imag() == 0; };
  if (std::all_of(factors.begin(), factors.end(), is_real)) f(Real<T>{});
  else f(T{});
}

// next = alpha sum + beta v + gamma before, for the rows [begin, end); next may be `before`.
template <class T>
void compute_step(Scalar alpha, const T* sum, Scalar beta, const T* v, Scalar gamma, const T* before, T* next,
                  int64 begin, int64 end) {
  with_factor_type<T>({alpha, beta, gamma}, [&](auto type) {
    using S = decltype(type);
    const S a = from_scalar<S>(alpha), b = from_scalar<S>(beta), c = from_scalar<S>(gamma);
    const auto each = [&](const auto& value) {
#pragma GCC ivdep
      for (int64 i = begin; i < end; ++i) next[i] = value(i);
    };
    const bool has_v = beta != 0.0, back = gamma != 0.0;
    if (has_v && back) each([=](int64 i) { return a * sum[i] + b * v[i] + c * before[i]; });
    else if (has_v) each([=](int64 i) { return a * sum[i] + b * v[i]; });
    else if (back) each([=](int64 i) { return a * sum[i] + c * before[i]; });
    else each([=](int64 i) { return a * sum[i]; });
  });
}

// y += c v, or y = c v.
template <class T>
void add_to_sum(Scalar c, const T* v, T* y, int64 n, bool fresh) {
  with_factor_type<T>({c}, [&](auto type) {
    using S = decltype(type);
    const S factor = from_scalar<S>(c);
    if (c == 0.0) std::fill(y, y + (fresh ? n : 0), T{});
    else if (fresh) std::transform(v, v + n, y, [=](T value) { return factor * value; });
    else std::transform(v, v + n, y, y, [=](T value, T sum) { return sum + factor * value; });
  });
}

// The division of the work: `steps` per pass, and blocks of `rows`.
struct Cut {
  int64 steps, rows;
};

// Chooses the number of steps with the lowest cost per step. Reading A from memory costs 1, from the cache kCached
// (measured with 11 diagonals on one thread: 5 and 1.75 ns per row). A pass of s steps reads the block and its slopes
// from memory once, and in each step computes half of the slopes on average.
Cut choose_cut(int64 k, int64 row_bytes, int64 reach) {
  constexpr int64 kMaxSteps = 64;
  constexpr double kCached = 0.35;
  Cut best{1, 0};
  double least = 1 + kCached;
  for (int64 s = 2; s <= std::min(k, kMaxSteps); ++s) {
    const int64 slopes = (s - 1) * reach, rows = kCache / row_bytes - slopes;
    if (rows <= slopes) break;
    const double ratio = static_cast<double>(slopes) / static_cast<double>(rows);
    const double cost = (1 + ratio) / static_cast<double>(s) + kCached * (1 + ratio / 2);
    if (cost < least) best = {s, rows}, least = cost;
  }
  return best;
}

// One pass for the rows [first, last). Rows on the slopes are clipped to the matrix or wrap around: then row i < 0
// stands for n + i, and row i >= n for i - n.
template <class U, class T>
class Trapezoid {
 public:
  Trapezoid(const Recurrence& r, const Pass<T>& pass, const Neighbours& near, const U* u, bool conj, int64 n,
            int64 first, int64 last)
      : r_(r), pass_(pass), near_(near), u_(u), conj_(conj), n_(n), first_(first), last_(last) {}

  void run() {
    if (pass_.y && pass_.fresh) add_to_sum(pass_.start, pass_.v + first_, pass_.y + first_, last_ - first_, true);
    const auto [begin, end] = rows_of(0);
    const auto memory = allocate((2 * (end - begin) + kTile) * static_cast<int64>(sizeof(T)));
    T* sums = static_cast<T*>(memory.get());
    // Row i of a window has index i. A step overwrites the vector before the previous one.
    T* windows[2] = {sums + kTile - begin, sums + kTile + (end - begin) - begin};
    const T *v = pass_.v, *before = pass_.before;
    if (begin < 0 || end > n_) {
      for (int64 i = begin; i < end; ++i) windows[0][i] = v[within(i)];
      for (int64 i = before ? begin : end; i < end; ++i) windows[1][i] = before[within(i)];
      v = windows[0], before = windows[1];
    }
    for (int64 t = 1; t <= pass_.steps; ++t) {
      if (t % kStepsPerCheckpoint == 0) checkpoint();
      T* next = t == pass_.steps && pass_.v_out ? pass_.v_out : windows[t % 2];
      step(t, v, before, next, sums);
      if (t + 1 == pass_.steps && pass_.before_out) std::copy(next + first_, next + last_, pass_.before_out + first_);
      before = v;
      v = next;
    }
  }

 private:
  // The rows that step t of the pass computes; for t = 0, the rows of v that the pass needs.
  std::pair<int64, int64> rows_of(int64 t) const {
    const int64 left = pass_.steps - t, begin = first_ - left * near_.below, end = last_ + left * near_.above;
    if (near_.around) return {begin, end};
    return {std::max<int64>(0, begin), std::min(n_, end)};
  }
  int64 within(int64 i) const { return ((i % n_) + n_) % n_; }

  void step(int64 t, const T* v, const T* before, T* next, T* sums) {
    const int64 j = pass_.first + t - 1;
    const auto [begin, end] = rows_of(t);
    for (int64 i = begin, tile_end; i < end; i = tile_end) {
      const int64 around = i - within(i);  // a multiple of n
      tile_end = std::min({end, i + kTile, around + n_});
      multiply(v + around, sums - (i - around), i - around, tile_end - around);
      compute_step(r_.alpha[j], sums - i, r_.beta[j], v, r_.back(j), before, next, i, tile_end);
      const int64 owned = std::max(i, first_), owned_end = std::min(tile_end, last_);
      if (pass_.y && owned < owned_end)
        add_to_sum(r_.c[j + 1], next + owned, pass_.y + owned, owned_end - owned, false);
    }
  }

  // sums[i] = (op(A) v)[i] for begin <= i < end.
  void multiply(const T* v, T* sums, int64 begin, int64 end) const {
    const auto [terms, terms_end] = terms_in(near_.terms, begin, end);
    RowTiles<U, T, 1>::run_in_groups({u_, conj_, v, false, sums, Update<T>(1.0, 0.0)}, terms, terms_end, begin, end, 1);
  }

  const Recurrence& r_;
  const Pass<T>& pass_;
  const Neighbours& near_;
  const U* u_;
  bool conj_;
  int64 n_, first_, last_;
};

template <class U, class T>
struct Blocked {
  static void run(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y) {
    if (sizeof(U) == 2 || a.layout().packing) return run_steps(a, op, r, x, y);
    if constexpr (sizeof(U) > 2) run_passes(a, op, r, x, y);
  }

 private:
  static void run_passes(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y) {
    const RowSums sums = row_sums(spans_of(a.layout(), op));
    const int64 n = x.rows, row_bytes = sums.work * sizeof(U) / n + 4 * sizeof(T);
    const bool fits = n <= kCache / row_bytes;
    const Neighbours near(sums, n, !fits);
    const Cut cut = fits ? Cut{r.steps(), n} : choose_cut(r.steps(), row_bytes, near.both());
    if (cut.steps < 2) return run_steps(a, op, r, x, y);
    const int64 blocks = (n + cut.rows - 1) / cut.rows;
    in_passes<T>(r, cut.steps, x, y, [&](const Pass<T>& pass) {
      parallel_for(blocks, sums.work * pass.steps, [&](int64 block) {
        const int64 first = n * block / blocks, last = n * (block + 1) / blocks;
        Trapezoid<U, T>(r, pass, near, a.values.as<U>(), op.conjugated, n, first, last).run();
      });
    });
  }
};

}  // namespace

Typed<ChainKernel> chain_blocked() { return every_stored_pair<Blocked, ChainKernel>(); }

}  // namespace diagsparse::DIAGSPARSE_ISA
