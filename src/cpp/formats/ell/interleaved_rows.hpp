// The inner loop of formats that store rows turned, so that entry w of neighbouring rows lie side by side; on the CPU.
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/arithmetic.hpp"
#include "core/columns.hpp"

namespace diagsparse {

constexpr int64 kInterleavedRows = 1024;  // rows at a time: their sums stay in the first cache

// Rows 0 <= i < count: the column of entry w of row i is that at place w stride + i + first of `columns`, a line of
// `chunks` chunks for each w; a chunk begins at `first`. From padding on a row is over.
struct InterleavedColumns {
  int64 count, width, stride, first, chunks;
  Columns<AnyIndex> columns;

  int64 together() const { return columns.wide() ? count : kChunk; }  // rows that are read at once

  int64 place(int64 w, int64 i) const { return w * stride + first + i; }
  int64 chunk(int64 w, int64 i) const { return w * chunks + (first + i) / kChunk; }
  std::int32_t base(int64 w, int64 i) const { return columns.bases ? columns.bases[chunk(w, i)] : 0; }

  // The columns of `group` entries from w on, of `rows` rows from i on: those of an entry lie `step` behind those of
  // the one before it. The room is that of a chunk for each.
  [[gnu::noinline]] const std::int32_t* read(int64 w, int64 group, int64 i, int64 rows, std::int32_t* room,
                                             int64& step) const {
    step = columns.wide() ? stride : kChunk;
    if (columns.wide()) return columns.wide() + place(w, i);
    for (int64 g = 0; g < group; ++g) columns.read(place(w + g, i), chunk(w + g, i), 0, rows, room + g * kChunk);
    return room;
  }

  // Whether all rows have an entry w.
  [[gnu::noinline]] bool whole(int64 w) const {
    std::int32_t room[kChunk], any = 0;
    for (int64 from = 0, step = 0; from < count && any >= 0; from += together()) {
      const int64 rows = std::min(together(), count - from);
      const std::int32_t* const index = read(w, 1, from, rows, room, step);
      for (int64 i = 0; i < rows; ++i) any |= index[i];
    }
    return any >= 0;
  }

  // Calls f(i, column) for the rows that have an entry w.
  template <class F>
  void each(int64 w, const F& f) const {
    std::int32_t room[kChunk];
    for (int64 from = 0, step = 0; from < count; from += together()) {
      const int64 rows = std::min(together(), count - from);
      const std::int32_t* const index = read(w, 1, from, rows, room, step);
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

// The steps of `add_interleaved`: from entry w on by groups of entries, while all rows have them. A sum is in a
// register for a group. Returns the entry that comes next. I: the type of short columns, which are read as they lie;
// else AnyIndex.
template <int Group, bool Plain, class I, class T, class U, class V>
int64 add_groups(int64 w, const InterleavedRows<U>& rows, bool conj, const V* x, int64 x_step, T* sums) {
  constexpr bool typed = !std::is_same_v<I, AnyIndex>;
  constexpr int64 kLine = 16, kAhead = 128;  // rows whose values are called for at once, and how far ahead
  std::int32_t room[typed ? 1 : Group * kChunk];
  const V* from_base[Group];
  for (; w + Group <= rows.width && rows.whole(w + Group - 1); w += Group) {
    for (int64 from = 0, step = rows.stride; from < rows.count; from += rows.together()) {
      const int64 count = std::min(rows.together(), rows.count - from);
      const auto* const index = [&] {
        if constexpr (!typed) return rows.read(w, Group, from, count, room, step);
        else return static_cast<const I*>(rows.columns.indices) + rows.place(w, from);
      }();
      for (int g = 0; typed && g < Group; ++g) from_base[g] = x + rows.base(w + g, from);
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
            const U& of = value[g * rows.stride + i];
            const int64 j = index[g * step + i];
            if constexpr (Plain) sum += multiply(of, in[j]);
            else sum += multiply(conjugate_if(conj, of), in[j * x_step]);
          }
          to[i] = sum;
        }
      }
    }
  }
  return w;
}

template <bool Plain, class I, class T, class U, class V>
void add_interleaved_as(const InterleavedRows<U>& rows, bool conj, const V* x, int64 x_step, T* sums) {
  int64 w = add_groups<8, Plain, I>(0, rows, conj, x, x_step, sums);
  w = add_groups<4, Plain, I>(w, rows, conj, x, x_step, sums);
  w = add_groups<1, Plain, I>(w, rows, conj, x, x_step, sums);
  for (bool left = true; w < rows.width && left; ++w) {  // some rows are over
    left = false;
    rows.each(w, [&](int64 i, std::int32_t j) {
      sums[i] += multiply(conjugate_if(conj, rows.value[w * rows.stride + i]), x[j * x_step]);
      left = true;
    });
  }
}

// sums[i] += row i times x, entry after entry.
template <class T, class U, class V>
void add_interleaved(const InterleavedRows<U>& rows, bool conj, const V* x, int64 x_step, T* sums) {
  // The common case, neighbouring elements and no conjugate, as a loop of its own; with real operands of one type also
  // for each type of short columns.
  if (x_step != 1 || conj) return add_interleaved_as<false, AnyIndex>(rows, conj, x, x_step, sums);
  if constexpr (std::is_same_v<U, V> && !is_complex<U>) {
    if (rows.columns.type == DType::u8) return add_interleaved_as<true, std::uint8_t>(rows, false, x, 1, sums);
    if (rows.columns.type == DType::u16) return add_interleaved_as<true, std::uint16_t>(rows, false, x, 1, sums);
  }
  add_interleaved_as<true, AnyIndex>(rows, false, x, 1, sums);
}

}  // namespace diagsparse
