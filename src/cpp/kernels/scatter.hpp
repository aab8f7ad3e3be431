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

// y += the buffered sums, for one column y.
void add_buffered(const ScatterChunks& chunks, const Array& sums, const Dense& y);
// y = alpha sums + beta y, for one column y.
void add_scaled(Scalar alpha, const Array& sums, Scalar beta, const Dense& y);

inline Dense column_of(const Dense& block, int64 c) {
  const int64 bytes = c * block.col_stride * item_size(block.dtype);
  return {static_cast<char*>(block.data) + bytes, block.dtype, block.rows, 1, block.row_stride, block.col_stride};
}

// For formats without a faster `add`.
struct OneByOne {};

// How a format's entries are visited: Entries<U>, for values of type U, has
//   of(m)                        the entries of a matrix
//   begin(blocks, k)             the start of block k in the matrix, or the end for k = blocks
//   traverse(begin, end, visit)  calls visit(i)(j, value) for every entry in that range, which multiplies x[i] and adds
//                                to y[j], always in the same order, and calls checkpoint() regularly
// The chunks of a matrix, which are cached with it, depend on its structure only. `margin`: see scatter().
template <template <class U> class Entries>
std::shared_ptr<ScatterChunks> scatter_chunks(const Matrix& m, int64 rows, int64 margin) {
  return m.structure->cache().get<ScatterChunks>("chunks of " + m.format, [&] {
    const auto a = Entries<std::uint8_t>::of(m);  // the first byte of values, which are not read
    const int64 stored = m.structure->stored(), count = block_count(stored);
    std::vector<int64> begins(count + 1), low(count, rows), high(count, -1);
    for (int64 k = 0; k <= count; ++k) begins[k] = a.begin(count, k);
    parallel_for(count, stored, [&](int64 k) {
      int64 lowest = rows, highest = -1;
      a.traverse(begins[k], begins[k + 1], [&](int64) {
        return [&](int64 j, std::uint8_t) {
          lowest = std::min(lowest, j);
          highest = std::max(highest, j);
        };
      });
      if (lowest > highest) return;
      low[k] = std::max<int64>(0, lowest - margin), high[k] = std::min(rows - 1, highest + margin);
    });
    return std::make_shared<ScatterChunks>(chunks_of(begins, low, high, rows, stored));
  });
}

// y = alpha A x + beta y for the entries `a` of m, conjugated if `conj`. add(begin, end, x, y) is an optional faster
// version for contiguous vectors and no conjugation, y += A x. It may read and write `margin` more elements of y on
// either side of those with entries; `margin` must be the same for all types of a format.
template <class V, template <class U> class Entries, class U, class Add = OneByOne>
void scatter(const Entries<U>& a, const Matrix& m, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y,
             int64 margin = 0, const Add& add = {}) {
  using T = Product<U, V>;
  if (alpha != 1.0) {  // scale complete sums, so that the loop over the entries needs no factor
    const Array sums = Array::empty(y.dtype, {y.rows});
    for (int64 c = 0; c < x.cols; ++c) {
      scatter<V>(a, m, conj, 1.0, column_of(x, c), 0.0, flat(sums), margin, add);
      add_scaled(alpha, sums, beta, column_of(y, c));
    }
    return;
  }
  const auto chunks = scatter_chunks<Entries>(m, y.rows, margin);
  const Update<T> update(0.0, beta);
  const Array buffer = Array::empty(dtype_of<T>(), {chunks->sums});
  const auto count = static_cast<int64>(chunks->chunks.size()), columns_at_once = chunks->sums == 0 ? x.cols : 1;
  const bool contiguous = x.row_stride == 1 && y.row_stride == 1 && !conj;
  for (int64 column = 0; column < x.cols; column += columns_at_once) {
    parallel_for(count * columns_at_once, m.structure->stored() * columns_at_once, [&](int64 task) {
      const ScatterChunk& chunk = chunks->chunks[task % count];
      const int64 c = column + task / count, x_step = x.row_stride, y_step = y.row_stride;
      const V* const in = x.as<V>() + c * x.col_stride;
      T *const out = y.as<T>() + c * y.col_stride, *const sums = buffer.as<T>() + chunk.sums_at;
      for (int64 j = chunk.owned; j < chunk.owned_end; ++j) update.one(out + j * y_step, T{});
      std::fill_n(sums, chunk.buffered_end - chunk.buffered, T{});
      for (int64 k = chunk.first; k < chunk.last; ++k) {
        T* const to = chunks->buffered[k] ? sums - chunk.buffered : out;  // position of y[0]
        const int64 begin = chunks->begins[k], end = chunks->begins[k + 1], step = chunks->buffered[k] ? 1 : y_step;
        if constexpr (!std::is_same_v<Add, OneByOne>) {
          if (contiguous) {
            add(begin, end, in, to);
            continue;
          }
        }
        a.traverse(begin, end, [=](int64 i) {
          return [=, factor = in[i * x_step]](int64 j, const U& value) {
            to[j * step] += multiply(conjugate_if(conj, value), factor);
          };
        });
      }
    });
    if (chunks->sums > 0) add_buffered(*chunks, buffer, column_of(y, column));
  }
}

}  // namespace diagsparse
