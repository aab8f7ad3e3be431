// Substitution with diagonals on a GPU: which kernel computes it.
//
//   x[i] = (x[i] - sum of a_k[i] x[i -+ d_k]) inverse[i], from far diagonals to near ones; x: n x columns, F order.
#include "kernels/triangles/blocks.cuh"
#include "kernels/triangles/lines.cuh"

namespace diagsparse::cuda::triangles {

namespace {

constexpr int64 kFewestLines = 64;
constexpr int64 kFewBlocks = 64;  // one after the other that are faster than anything else

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
