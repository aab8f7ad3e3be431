// Substitution with diagonals on a GPU: which kernel computes it.
//
//   x[i] = (x[i] - sum of a_k[i] x[i -+ d_k]) inverse[i], from far diagonals to near ones; x: n x columns, F order.
#include "kernels/triangles/blocks.cuh"
#include "kernels/triangles/chains.cuh"
#include "kernels/triangles/grid.cuh"
#include "kernels/triangles/march.cuh"

namespace diagsparse::cuda::triangles {

namespace {

constexpr int64 kFewestChains = 32;
constexpr int64 kFar = 4096;      // distance from which on blocks that wait for each other are faster than one block
constexpr int64 kFewBlocks = 64;  // one after the other that are faster than anything else

class OfDiagonals : public Triangle {
 public:
  OfDiagonals(const Matrix& a, const Array& values, bool conjugated, bool lower, const Array& inverse,
              std::vector<Term> terms, Last last)
      : Triangle(a, inverse),
        values_(values),
        conjugated_(conjugated),
        rows_{a.rows, lower},
        terms_(std::move(terms)),
        last_(last) {
    std::sort(terms_.begin(), terms_.end(), [](const Term& x, const Term& y) { return x.distance > y.distance; });
    if (!terms_.empty()) nearest_ = terms_.back().distance;
  }
  const char* order() const override {
    constexpr const char* kNames[] = {"chains", "blocks", "grid", "march"};
    return kNames[static_cast<int>(order_)];
  }
  int64 nbytes() const override { return inverse.nbytes(); }

  bool possible() {
    if (terms_.empty()) return order_ = Order::blocks, true;
    if (terms_.size() > kMostTerms) return false;
    return with_value_type(matrix.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (forms_chains(kLinks<T>)) order_ = Order::chains;
      else if (nearest_ >= kFar || rows_.count / nearest_ <= kFewBlocks) order_ = Order::blocks;
      else if (find_grid<T>()) order_ = Order::grid;
      else if (nearest_ > 1 || (terms_.size() > 1 && near() <= kMostNear)) order_ = Order::march;
      else return false;
      return order_ != Order::march || near() <= kMostNear;
    });
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
      if (order_ != Order::grid) return by_terms<T>(x);
      switch (terms_.size()) {
        case 1: return by_grid<T, 1>(x);
        case 2: return by_grid<T, 2>(x);
        case 3: return by_grid<T, 3>(x);
        case 4: return by_grid<T, 4>(x);
        default: return by_grid<T, kMostInGrid>(x);
      }
    });
  }

 private:
  enum class Order { chains, blocks, grid, march };

  template <class T>
  const T* reciprocals() const {
    return inverse.size() ? inverse.as<T>() : nullptr;
  }
  static int64 lead(const Dense& x) { return x.cols > 1 ? x.col_stride : x.rows; }
  static unsigned columns(const Dense& x) { return static_cast<unsigned>(x.cols); }

  int near() const {
    return static_cast<int>(std::count_if(terms_.begin(), terms_.end(), [](const Term& t) { return t.distance < 32; }));
  }
  bool forms_chains(int64 links) const {
    return nearest_ >= kFewestChains && std::all_of(terms_.begin(), terms_.end() - 1, [&](const Term& term) {
             return term.distance % nearest_ == 0 && term.distance / nearest_ >= links;
           });
  }

  template <class T>
  bool find_grid() {
    const std::optional<Axes> axes = grid_of(rows_, terms_, values_);
    const int shared = limits<substitute_grid<T, kMostInGrid>>().shared;
    return axes && make_tiling(*axes, terms_, sizeof(T), shared, tiling_, grid_terms_);
  }

  template <class T, int Count>
  void by_grid(const Dense& x) {
    Grid<T> t{
        values_.as<T>(), reciprocals<T>(), rows_, conjugated_, last_, tiling_, static_cast<int>(terms_.size()), {}};
    std::copy_n(grid_terms_, terms_.size(), t.terms);
    const Array state = Array::zeros(DType::i32, {(1 + int64{tiling_.tiles} * tiling_.writers) * x.cols});
    limits<substitute_grid<T, Count>>();  // allows as much shared memory as there is
    launch_shared("substitute_grid", substitute_grid<T, Count>, dim3(static_cast<unsigned>(tiling_.tiles), columns(x)),
                  dim3(tiling_.threads()), shared_bytes(tiling_, terms_.size(), sizeof(T)), t, x.as<T>(), lead(x),
                  state.as<unsigned>());
  }

  template <class T>
  void by_terms(const Dense& x) {
    Terms<T> t{values_.as<T>(),
               reciprocals<T>(),
               rows_,
               conjugated_,
               last_,
               nearest_,
               static_cast<int>(terms_.size()),
               {},
               {}};
    for (int k = 0; k < t.count; ++k) {
      t.distance[k] = terms_[k].distance;
      t.first[k] = terms_[k].first;
    }
    if (order_ == Order::chains) {
      launch("substitute_chains", substitute_chains<T>,
             dim3(static_cast<unsigned>(ceil_div(nearest_, kChainBlock)), columns(x)), dim3(kChainBlock), t, x.as<T>(),
             lead(x));
    } else if (order_ == Order::march) {
      t.step = std::min<int64>(nearest_, kMostAtOnce);
      limits<substitute_march<T>>();
      launch_shared("substitute_march", substitute_march<T>, dim3(1, columns(x)),
                    dim3(static_cast<unsigned>(ceil_div(t.step, 32) * 32)), kWindow * static_cast<int>(sizeof(T)), t,
                    t.count - near(), x.as<T>(), lead(x));
    } else {
      t.step = terms_.empty() ? kBlock : std::min<int64>(kBlock, nearest_);
      const int64 blocks = ceil_div(rows_.count, t.step);
      const Array state = Array::zeros(DType::i32, {(blocks + 1) * x.cols});
      launch("substitute_blocks", substitute_blocks<T>, dim3(static_cast<unsigned>(blocks), columns(x)), dim3(kBlock),
             t, x.as<T>(), lead(x), state.as<unsigned>(), blocks);
    }
  }

  Array values_;
  bool conjugated_;
  Rows rows_;
  std::vector<Term> terms_;  // the farthest one first
  Last last_;
  Order order_ = Order::blocks;
  int64 nearest_ = 0;
  Tiling tiling_{};
  GridTerm grid_terms_[kMostInGrid] = {};
};

std::unique_ptr<Triangle> if_possible(std::unique_ptr<OfDiagonals> triangle) {
  if (!triangle->possible()) return nullptr;
  return triangle;
}

}  // namespace

std::unique_ptr<Triangle> of_diagonals(const Matrix& a, Op op, bool lower, const Array& inverse,
                                       const std::vector<int64>& offsets) {
  std::vector<Term> terms;
  for (const Span& s : spans_of(a.layout(), op)) {
    if (lower ? s.offset >= 0 : s.offset <= 0) continue;
    if (std::find(offsets.begin(), offsets.end(), s.offset) == offsets.end()) continue;
    terms.push_back({std::abs(s.offset), s.start - s.row});
  }
  const Last last = inverse.size() ? Last::times_reciprocal : Last::nothing;
  return if_possible(std::make_unique<OfDiagonals>(a, a.values, op.conjugated, lower, inverse, std::move(terms), last));
}

std::unique_ptr<Triangle> of_pivots(const Matrix& a, const Array& weights, std::vector<Term> terms) {
  return if_possible(
      std::make_unique<OfDiagonals>(a, weights, false, true, Array(), std::move(terms), Last::reciprocal));
}

}  // namespace diagsparse::cuda::triangles
