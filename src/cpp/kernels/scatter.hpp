// y = alpha A x + beta y on the CPU when the entries are not in the order of y: transposed products of formats that
// store rows, and products of formats that store columns.
//
// The matrix is divided into chunks, which depend on the matrix only and run in parallel. Each chunk owns a range of y,
// and consists of blocks. Blocks within the owned range add to y directly. Blocks that extend beyond it, where later
// chunks add, add to a buffer. Finally, the buffered sums are added to y:
//
//                   0                                  y.rows
//     chunk 0       |== owned ==|
//                           |buffered|
//     chunk 1                   |=== owned ===|
//                                         |buffered|
//     chunk 2                                 |= owned =|
//
// The order of the sum y[j] is therefore the same for any number of threads.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel_table.hpp"
#include "core/matrix.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

struct ScatterChunk {
  int64 first, last;                      // its blocks [first, last)
  int64 owned, owned_end;                 // its range of y
  int64 buffered, buffered_end, sums_at;  // the buffered range of y, and the position of its sums
};

struct ScatterChunks {
  std::vector<int64> begins;   // where each block begins in the matrix, and the end
  std::vector<char> buffered;  // whether a block adds to the buffer
  std::vector<ScatterChunk> chunks;
  int64 sums;  // total number of buffered sums
};

constexpr int64 kMaxChunks = 64, kBlocksPerChunk = 16;
inline int64 block_count(int64 stored) { return stored < kSerialWork ? 1 : kMaxChunks * kBlocksPerChunk; }

// Forms chunks of the blocks that start at `begins` and have entries in the range [low[k], high[k]] of y (empty if
// low[k] > high[k]): as many chunks as possible with few buffered sums.
ScatterChunks chunks_of(const std::vector<int64>& begins, const std::vector<int64>& low, const std::vector<int64>& high,
                        int64 rows, int64 stored);

// Adds all buffered sums to y.
template <class T>
void add_buffered(const ScatterChunks& chunks, const T* sums, T* out, int64 step) {
  const int64 rows = chunks.chunks.back().owned_end;
  parallel_for(kMaxChunks, chunks.sums, [&](int64 task) {
    const int64 low = rows * task / kMaxChunks, high = rows * (task + 1) / kMaxChunks;
    for (const ScatterChunk& chunk : chunks.chunks) {
      const T* const from = sums + chunk.sums_at;
      for (int64 j = std::max(low, chunk.buffered), end = std::min(high, chunk.buffered_end); j < end; ++j) {
        out[j * step] += from[j - chunk.buffered];
      }
    }
  });
}

// For formats without a faster `add`.
struct OneByOne {};

template <class U, class V, class Cut, class Traverse, class Add>
class Scatter {
 public:
  Scatter(const Matrix& m, const Cut& cut, const Traverse& traverse, const Add& add, int64 margin)
      : m_(m), cut_(cut), traverse_(traverse), add_(add), margin_(margin) {}

  void operator()(bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) const {
    const auto chunks =
        m_.structure->cache().get<ScatterChunks>("shares of " + m_.format, [&] { return compute_chunks(y.rows); });
    if constexpr (kCommonPair<U, V>) {  // contiguous vectors without a factor have their own loop
      if (x.row_stride == 1 && y.row_stride == 1 && !conj && alpha == 1.0) {
        return run<true>(*chunks, false, 1.0, x, beta, y);
      }
    }
    run<false>(*chunks, conj, alpha, x, beta, y);
  }

 private:
  using T = Product<U, V>;

  std::shared_ptr<ScatterChunks> compute_chunks(int64 rows) const {
    const int64 stored = m_.structure->stored(), count = block_count(stored);
    std::vector<int64> begins(count + 1), low(count, rows), high(count, -1);
    for (int64 k = 0; k <= count; ++k) begins[k] = cut_(count, k);
    parallel_for(count, stored, [&](int64 k) {
      int64 lowest = rows, highest = -1;
      traverse_(begins[k], begins[k + 1], [&](int64) {
        return [&](int64 j, const U&) {
          lowest = std::min(lowest, j);
          highest = std::max(highest, j);
        };
      });
      if (lowest > highest) return;
      low[k] = std::max<int64>(0, lowest - margin_), high[k] = std::min(rows - 1, highest + margin_);
    });
    return std::make_shared<ScatterChunks>(chunks_of(begins, low, high, rows, stored));
  }

  template <bool Plain>
  void run(const ScatterChunks& chunks, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) const {
    const Factor<T> scale(alpha);
    const Update<T> update(0.0, beta);
    const Array buffer = Array::empty(dtype_of<T>(), {chunks.sums});
    const auto count = static_cast<int64>(chunks.chunks.size()), columns_at_once = chunks.sums == 0 ? x.cols : 1;
    for (int64 column = 0; column < x.cols; column += columns_at_once) {
      parallel_for(count * columns_at_once, m_.structure->stored() * columns_at_once, [&](int64 task) {
        const ScatterChunk& chunk = chunks.chunks[task % count];
        const int64 c = column + task / count, x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
        const V* const in = x.as<V>() + c * x.col_stride;
        T *const out = y.as<T>() + c * y.col_stride, *const sums = buffer.as<T>() + chunk.sums_at;
        for (int64 j = chunk.owned; j < chunk.owned_end; ++j) update.one(out + j * y_step, T{});
        std::fill_n(sums, chunk.buffered_end - chunk.buffered, T{});
        for (int64 k = chunk.first; k < chunk.last; ++k) {
          T* const to = chunks.buffered[k] ? sums - chunk.buffered : out;  // position of y[0]
          const int64 step = Plain || chunks.buffered[k] ? 1 : y_step;
          if constexpr (Plain && !std::is_same_v<Add, OneByOne>) {
            add_(chunks.begins[k], chunks.begins[k + 1], in, to);
            continue;
          }
          traverse_(chunks.begins[k], chunks.begins[k + 1], [=](int64 i) {
            return [=, factor = in[i * x_step]](int64 j, const U& value) {
              if constexpr (Plain) to[j] += multiply(value, factor);
              else to[j * step] += scale * multiply(conjugate_if(conj, value), factor);
            };
          });
        }
      });
      if (chunks.sums > 0) add_buffered(chunks, buffer.as<T>(), y.as<T>() + column * y.col_stride, y.row_stride);
    }
  }

  const Matrix& m_;
  const Cut& cut_;
  const Traverse& traverse_;
  const Add& add_;
  int64 margin_;
};

// cut(blocks, k) returns the start of block k in the matrix, or the end for k = blocks. traverse(begin, end, visit)
// calls visit(i)(j, value) for every entry in that range, which multiplies x[i] and adds to y[j], always in the same
// order, and calls checkpoint() regularly. add(begin, end, x, y) is an optional faster version for contiguous vectors
// and no factor, y += A x. It may read and write `margin` more elements of y on either side of those with entries;
// `margin` must be the same for all types of a format. U and V are the types of A and x. The chunks are cached with the
// matrix.
template <class U, class V, class Cut, class Traverse, class Add = OneByOne>
void scatter(const Matrix& m, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y, const Cut& cut,
             const Traverse& traverse, int64 margin = 0, const Add& add = {}) {
  Scatter<U, V, Cut, Traverse, Add>(m, cut, traverse, add, margin)(conj, alpha, x, beta, y);
}

}  // namespace diagsparse
