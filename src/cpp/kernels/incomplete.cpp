// Incomplete factorizations row by row.
#include "cpu/incomplete.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/compressed_rows.hpp"
#include "core/interrupt.hpp"
#include "core/pivots.hpp"

namespace diagsparse::incomplete {

namespace {

template <class T>
T conjugate(T v) {
  return conjugate_if(true, v);
}
template <class T>
void subtract_product(T& sum, T a, T b) {
  if constexpr (is_complex<T>) sum += T{-a.re, -a.im} * b;
  else sum -= a * b;
}
// The pivot l of a Cholesky factorization from its square, and 1 / l; false if there is none.
template <class T>
bool root(T& pivot, T& inverse) {
  using R = Real<T>;
  const R square = real_part(pivot);
  if (!(square > 0) || !std::isfinite(square)) return false;
  const R l = std::sqrt(square);
  pivot = convert<T>(l);
  inverse = convert<T>(1 / l);
  return is_finite(inverse);
}

// ---- csr ------------------------------------------------------------------------------------------
template <class T>
class OfRows {
 public:
  explicit OfRows(Matrix& m) : a_(Csr<T>::of(m)), values_(m.values.as<T>()), inverse_(m.rows), diagonal_(m.rows) {}

  int64 lu() {
    std::vector<int64> entry(a_.cols, -1);  // of row i, by column
    for (int64 i = 0; i < a_.rows; ++i) {
      const int64 first = a_.indptr[i], last = a_.indptr[i + 1];
      for (int64 e = first; e < last; ++e) entry[a_.indices[e]] = e;
      for (int64 e = first; e < last && a_.indices[e] < i; ++e) {
        const int64 k = a_.indices[e];
        const T l = values_[e] = values_[e] * inverse_[k];
        for (int64 f = diagonal_[k] + 1; f < a_.indptr[k + 1]; ++f) {
          const int64 to = entry[a_.indices[f]];
          if (to >= 0) subtract_product(values_[to], l, values_[f]);
        }
      }
      if (entry[i] < 0) return i;
      diagonal_[i] = entry[i];
      inverse_[i] = reciprocal(values_[entry[i]]);
      if (!is_finite(inverse_[i]) || !is_finite(values_[entry[i]])) return i;
      for (int64 e = first; e < last; ++e) entry[a_.indices[e]] = -1;
    }
    return -1;
  }

  int64 cholesky() {
    for (int64 i = 0; i < a_.rows; ++i) {
      const int64 first = a_.indptr[i], last = a_.indptr[i + 1] - 1;
      if (last < first || a_.indices[last] != i) return i;
      for (int64 e = first; e < last; ++e) {
        const int64 j = a_.indices[e];
        T sum = values_[e];
        for (int64 f = first, g = a_.indptr[j]; f < e && g < diagonal_[j];) {  // columns that both rows have
          if (a_.indices[f] < a_.indices[g]) ++f;
          else if (a_.indices[f] > a_.indices[g]) ++g;
          else subtract_product(sum, values_[f++], conjugate(values_[g++]));
        }
        values_[e] = sum * inverse_[j];
      }
      T& pivot = values_[last];
      for (int64 e = first; e < last; ++e) subtract_product(pivot, values_[e], conjugate(values_[e]));
      diagonal_[i] = last;
      if (!root(pivot, inverse_[i])) return i;
    }
    return -1;
  }

 private:
  Csr<T> a_;
  T* values_;
  std::vector<T> inverse_;       // reciprocals of the pivots
  std::vector<int64> diagonal_;  // their entries
};

// ---- diagonals ------------------------------------------------------------------------------------
// An element of a diagonal in row i is at values[first + i].
template <class T>
class OfDiagonals {
 public:
  explicit OfDiagonals(Matrix& m) : rows_(m.rows), values_(m.values.as<T>()), inverse_(m.rows) {
    for (const Span& s : spans_of(m.layout(), {})) {
      if (s.offset == 0) main_ = static_cast<int>(offsets_.size());
      offsets_.push_back(s.offset);
      at_.push_back(values_ + s.start - s.row);
    }
  }

  // Row i minus l times row i - d, on the diagonals that both have.
  int64 lu() {
    if (main_ < 0) return rows_ > 0 ? 0 : -1;
    std::vector<std::vector<Update>> updates(main_);
    for (int k = 0; k < main_; ++k) {
      for (int u = main_ + 1; u < count(); ++u) {
        const int to = find(offsets_[k] + offsets_[u]);
        if (to >= 0) updates[k].push_back({to, u, -1});
      }
    }
    for (int64 i = 0; i < rows_; ++i) {
      if (i % kRowsBetween == 0) checkpoint();
      for (int k = 0; k < main_; ++k) {
        const int64 j = i + offsets_[k];
        if (j < 0) continue;
        const T l = at_[k][i] = at_[k][i] * inverse_[j];
        for (const Update& u : updates[k]) {
          if (j + offsets_[u.from] < rows_) subtract_product(at_[u.to][i], l, at_[u.from][j]);
        }
      }
      const T pivot = at_[main_][i];
      inverse_[i] = reciprocal(pivot);
      if (!is_finite(inverse_[i]) || !is_finite(pivot)) return i;
    }
    return -1;
  }

  // The element on diagonal `to` of row i is that of A minus the products of elements of rows i and j = i + offset in
  // the same columns, which are on the diagonals `from` and `other`.
  int64 cholesky() {
    if (main_ < 0) return rows_ > 0 ? 0 : -1;
    std::vector<std::vector<Update>> updates(main_);
    for (int k = 0; k < main_; ++k) {
      for (int f = 0; f < k; ++f) {
        const int other = find(offsets_[f] - offsets_[k]);
        if (other >= 0) updates[k].push_back({k, f, other});
      }
    }
    for (int64 i = 0; i < rows_; ++i) {
      if (i % kRowsBetween == 0) checkpoint();
      T& pivot = at_[main_][i];
      for (int k = 0; k < main_; ++k) {
        const int64 j = i + offsets_[k];
        if (j < 0) continue;
        T sum = at_[k][i];
        for (const Update& u : updates[k]) {
          if (i + offsets_[u.from] >= 0) subtract_product(sum, at_[u.from][i], conjugate(at_[u.other][j]));
        }
        at_[k][i] = sum = sum * inverse_[j];
        subtract_product(pivot, sum, conjugate(sum));
      }
      if (!root(pivot, inverse_[i])) return i;
    }
    return -1;
  }

 private:
  static constexpr int64 kRowsBetween = 1 << 16;  // checks for Ctrl-C
  struct Update {
    int to, from, other;  // diagonals
  };

  int count() const { return static_cast<int>(offsets_.size()); }
  int find(int64 offset) const {
    const auto at = std::lower_bound(offsets_.begin(), offsets_.end(), offset);
    return at != offsets_.end() && *at == offset ? static_cast<int>(at - offsets_.begin()) : -1;
  }

  int64 rows_;
  T* values_;
  std::vector<int64> offsets_;  // ascending
  std::vector<T*> at_;
  int main_ = -1;
  std::vector<T> inverse_;  // reciprocals of the pivots
};

template <class F>
int64 factor(Matrix& a, const F& f) {
  return with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (diagonals_of(*a.structure) != nullptr) {
      OfDiagonals<T> factors(a);
      return f(factors);
    }
    OfRows<T> factors(a);
    return f(factors);
  });
}

}  // namespace

int64 factor_lu(Matrix& a) {
  return factor(a, [](auto& factors) { return factors.lu(); });
}
int64 factor_cholesky(Matrix& a) {
  return factor(a, [](auto& factors) { return factors.cholesky(); });
}

}  // namespace diagsparse::incomplete
