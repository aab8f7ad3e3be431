// The inner loop on the CPU of formats that store rows interleaved, so that entries w of neighbouring rows are
// contiguous.
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/arithmetic.hpp"
#include "core/columns.hpp"

namespace diagsparse {

constexpr int64 kInterleavedRows = 1024;  // rows at a time, so that their sums stay in the L1 cache

// The columns of rows 0 <= i < count. That of entry w of row i is at position w stride + i + first of `columns`. For
// each w there is a line of `chunks` chunks, and a chunk begins at `first`. The first padding ends a row.
struct InterleavedColumns {
  int64 count, width, stride, first, chunks;
  Columns<AnyIndex> columns;

  int64 rows_per_read() const { return columns.wide() ? count : kChunk; }

  int64 position(int64 w, int64 i) const { return w * stride + first + i; }
  int64 chunk(int64 w, int64 i) const { return w * chunks + (first + i) / kChunk; }
  std::int32_t base(int64 w, int64 i) const { return columns.bases ? columns.bases[chunk(w, i)] : 0; }

  // Returns the columns of entries w to w + group of `rows` rows from row i on. Those of successive entries are `step`
  // apart. `buffer` has space for a chunk for each entry.
  [[gnu::noinline]] const std::int32_t* read(int64 w, int64 group, int64 i, int64 rows, std::int32_t* buffer,
                                             int64& step) const {
    step = columns.wide() ? stride : kChunk;
    if (columns.wide()) return columns.wide() + position(w, i);
    for (int64 g = 0; g < group; ++g) columns.read(position(w + g, i), chunk(w + g, i), 0, rows, buffer + g * kChunk);
    return buffer;
  }

  // Whether all rows have an entry w.
  [[gnu::noinline]] bool complete(int64 w) const {
    std::int32_t buffer[kChunk], any = 0;
    for (int64 from = 0, step = 0; from < count && any >= 0; from += rows_per_read()) {
      const int64 rows = std::min(rows_per_read(), count - from);
      const std::int32_t* const index = read(w, 1, from, rows, buffer, step);
      for (int64 i = 0; i < rows; ++i) any |= index[i];
    }
    return any >= 0;
  }

  // Calls f(i, column) for each row that has an entry w.
  template <class F>
  void each(int64 w, const F& f) const {
    std::int32_t buffer[kChunk];
    for (int64 from = 0, step = 0; from < count; from += rows_per_read()) {
      const int64 rows = std::min(rows_per_read(), count - from);
      const std::int32_t* const index = read(w, 1, from, rows, buffer, step);
      for (int64 i = 0; i < rows; ++i) {
        if (index[i] >= 0) f(from + i, index[i]);
      }
    }
  }
};

// The value of entry w of row i is value[w stride + i].
template <class U>
struct InterleavedRows : InterleavedColumns {
  const U* value;
};

// The main loop of `add_interleaved`: processes entries from w on in groups, as long as all rows have all entries of a
// group. The sum of a row stays in a register during a group. Returns the next entry. I: the type of short columns that
// are read directly, or AnyIndex.
template <int Group, class I, class T, class U, class V>
int64 add_groups(int64 w, const InterleavedRows<U>& rows, bool conj, const V* x, int64 x_step, T* sums) {
  constexpr bool typed = !std::is_same_v<I, AnyIndex>;
  constexpr int64 kLine = 16, kAhead = 128;  // rows whose values are prefetched together, and the distance
  std::int32_t buffer[typed ? 1 : Group * kChunk];
  const V* from_base[Group];
  for (; w + Group <= rows.width && rows.complete(w + Group - 1); w += Group) {
    for (int64 from = 0, step = rows.stride; from < rows.count; from += rows.rows_per_read()) {
      const int64 count = std::min(rows.rows_per_read(), rows.count - from);
      const auto* const index = [&] {
        if constexpr (!typed) return rows.read(w, Group, from, count, buffer, step);
        else return static_cast<const I*>(rows.columns.indices) + rows.position(w, from);
      }();
      for (int g = 0; typed && g < Group; ++g) from_base[g] = x + rows.base(w + g, from) * x_step;
      const U* const value = rows.value + w * rows.stride + from;
      T* const to = sums + from;
      for (int64 line = 0; line < count; line += kLine) {
        const int64 next = line + kAhead < count ? line + kAhead : Group * rows.stride + line + kAhead - count;
#pragma GCC unroll 8
        for (int g = 0; g < Group; ++g) {
          for (int64 k = 0; k < kLine; k += 64 / sizeof(U)) __builtin_prefetch(value + g * rows.stride + next + k);
          __builtin_prefetch(index + g * step + next);
        }
        for (int64 i = line, end = std::min(count, line + kLine); i < end; ++i) {
          T sum = to[i];
#pragma GCC unroll 8
          for (int g = 0; g < Group; ++g) {
            const V* const in = typed ? from_base[g] : x;
            const U& factor = value[g * rows.stride + i];
            const int64 j = index[g * step + i];
            sum += multiply(conjugate_if(conj, factor), in[j * x_step]);
          }
          to[i] = sum;
        }
      }
    }
  }
  return w;
}

template <class I, class T, class U, class V>
void add_interleaved_as(const InterleavedRows<U>& rows, bool conj, const V* x, int64 x_step, T* sums) {
  int64 w = add_groups<8, I>(0, rows, conj, x, x_step, sums);
  w = add_groups<4, I>(w, rows, conj, x, x_step, sums);
  w = add_groups<1, I>(w, rows, conj, x, x_step, sums);
  for (bool remaining = true; w < rows.width && remaining; ++w) {  // some rows have ended
    remaining = false;
    rows.each(w, [&](int64 i, std::int32_t j) {
      sums[i] += multiply(conjugate_if(conj, rows.value[w * rows.stride + i]), x[j * x_step]);
      remaining = true;
    });
  }
}

// sums[i] += row i times x, in the order of the entries.
template <class T, class U, class V>
void add_interleaved(const InterleavedRows<U>& rows, bool conj, const V* x, int64 x_step, T* sums) {
  // For real operands of the same type, columns of 16 bits have their own loop.
  if constexpr (std::is_same_v<U, V> && !is_complex<U>) {
    if (rows.columns.type == DType::u16) return add_interleaved_as<std::uint16_t>(rows, conj, x, x_step, sums);
  }
  add_interleaved_as<AnyIndex>(rows, conj, x, x_step, sums);
}

}  // namespace diagsparse
