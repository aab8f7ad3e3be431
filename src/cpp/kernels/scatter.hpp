// y = alpha A x + beta y of entries that lie in no order of y's elements, on the CPU: transposed products of formats
// that store rows, products of those that store columns.
//
// Shares of the matrix, which follow from it alone, run side by side. Each owns a stretch of y. A share is cut into
// pieces: those that stay in its own stretch add to y, and those that reach beyond it, where later shares add, are
// summed aside. Sums aside come to y at last:
//
//                   0                                  y.rows
//     share 0       |=== own ===|
//                           |. aside .|
//     share 1                   |==== own ====|
//                                         |. aside .|
//     share 2                                 |== own ==|
//
// So y[j] sums in an order that is the same for any number of threads.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel_table.hpp"
#include "core/matrix.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

struct Share {
  int64 first, last;                // its pieces, up to `last`
  int64 own, own_end;               // in y
  int64 aside, aside_end, sums_at;  // what is summed aside: where in y it belongs, and where the sums are
};

struct Shares {
  std::vector<int64> begins;  // where each piece begins in the matrix, and the end
  std::vector<char> aside;    // whether a piece is summed aside
  std::vector<Share> shares;
  int64 sums;  // that are made aside
};

constexpr int64 kMostShares = 64, kPieces = 16;  // of a share
inline int64 pieces_of(int64 stored) { return stored < kSerialWork ? 1 : kMostShares * kPieces; }

// Of pieces that begin here and have entries from low[k] up to high[k], less where there are none: as many shares as
// come with few sums aside.
Shares shares_of(const std::vector<int64>& begins, const std::vector<int64>& low, const std::vector<int64>& high,
                 int64 rows, int64 stored);

// Adds all sums that were made aside to those of y.
template <class T>
void add_aside(const Shares& shares, const T* sums, T* out, int64 step) {
  const int64 rows = shares.shares.back().own_end;
  parallel_for(kMostShares, shares.sums, [&](int64 task) {
    const int64 low = rows * task / kMostShares, high = rows * (task + 1) / kMostShares;
    for (const Share& share : shares.shares) {
      const T* const from = sums + share.sums_at;
      for (int64 j = std::max(low, share.aside), end = std::min(high, share.aside_end); j < end; ++j) {
        out[j * step] += from[j - share.aside];
      }
    }
  });
}

// Of a format that adds entries one by one.
struct OneByOne {};

template <class U, class V, class Cut, class Traverse, class Add>
class Scatter {
 public:
  Scatter(const Matrix& m, const Cut& cut, const Traverse& traverse, const Add& add, int64 around)
      : m_(m), cut_(cut), traverse_(traverse), add_(add), around_(around) {}

  void operator()(bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) const {
    const auto shares = m_.structure->cache().get<Shares>("shares of " + m_.format, [&] { return find(y.rows); });
    if constexpr (kCommonPair<U, V>) {  // neighbouring elements and no factor have a loop of their own
      if (x.row_stride == 1 && y.row_stride == 1 && !conj && alpha == 1.0) {
        return run<true>(*shares, false, 1.0, x, beta, y);
      }
    }
    run<false>(*shares, conj, alpha, x, beta, y);
  }

 private:
  using T = Product<U, V>;

  std::shared_ptr<Shares> find(int64 rows) const {
    const int64 stored = m_.structure->stored(), count = pieces_of(stored);
    std::vector<int64> begins(count + 1), low(count, rows), high(count, -1);
    for (int64 k = 0; k <= count; ++k) begins[k] = cut_(count, k);
    parallel_for(count, stored, [&](int64 k) {
      int64 least = rows, most = -1;
      traverse_(begins[k], begins[k + 1], [&](int64) {
        return [&](int64 j, const U&) {
          least = std::min(least, j);
          most = std::max(most, j);
        };
      });
      if (least > most) return;
      low[k] = std::max<int64>(0, least - around_), high[k] = std::min(rows - 1, most + around_);
    });
    return std::make_shared<Shares>(shares_of(begins, low, high, rows, stored));
  }

  template <bool Plain>
  void run(const Shares& shares, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) const {
    const Factor<T> scale(alpha);
    const Update<T> update(0.0, beta);
    const Array room = Array::empty(dtype_of<T>(), {shares.sums});
    const auto count = static_cast<int64>(shares.shares.size()), together = shares.sums == 0 ? x.cols : 1;  // columns
    for (int64 column = 0; column < x.cols; column += together) {
      parallel_for(count * together, m_.structure->stored() * together, [&](int64 task) {
        const Share& share = shares.shares[task % count];
        const int64 c = column + task / count, x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
        const V* const in = x.as<V>() + c * x.col_stride;
        T *const out = y.as<T>() + c * y.col_stride, *const sums = room.as<T>() + share.sums_at;
        for (int64 j = share.own; j < share.own_end; ++j) update.one(out + j * y_step, T{});
        std::fill_n(sums, share.aside_end - share.aside, T{});
        for (int64 k = share.first; k < share.last; ++k) {
          T* const to = shares.aside[k] ? sums - share.aside : out;  // where the sum of y[0] is, or would be
          const int64 step = Plain || shares.aside[k] ? 1 : y_step;
          if constexpr (Plain && !std::is_same_v<Add, OneByOne>) {
            add_(shares.begins[k], shares.begins[k + 1], in, to);
            continue;
          }
          traverse_(shares.begins[k], shares.begins[k + 1], [=](int64 i) {
            return [=, factor = in[i * x_step]](int64 j, const U& value) {
              if constexpr (Plain) to[j] += multiply(value, factor);
              else to[j * step] += scale * multiply(conjugate_if(conj, value), factor);
            };
          });
        }
      });
      if (shares.sums > 0) add_aside(shares, room.as<T>(), y.as<T>() + column * y.col_stride, y.row_stride);
    }
  }

  const Matrix& m_;
  const Cut& cut_;
  const Traverse& traverse_;
  const Add& add_;
  int64 around_;
};

// cut(pieces, k): where piece k begins in the matrix, at k = pieces its end.  traverse(begin, end, take): calls
// take(i)(j, value) for every entry from there to there, always in the same order; it belongs to x[i] and y[j]. It
// calls checkpoint() now and then.  add(begin, end, x, y): the same for neighbouring elements of a vector and no
// factor, y += A x, where a format has a quicker way; it may read and write `around` more elements of y on either side
// of those that have entries, a number for all types of a format.  U, V: the types of A and x. The shares are kept with
// the matrix.
template <class U, class V, class Cut, class Traverse, class Add = OneByOne>
void scatter(const Matrix& m, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y, const Cut& cut,
             const Traverse& traverse, int64 around = 0, const Add& add = {}) {
  Scatter<U, V, Cut, Traverse, Add>(m, cut, traverse, add, around)(conj, alpha, x, beta, y);
}

}  // namespace diagsparse
