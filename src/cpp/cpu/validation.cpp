// Validation on the CPU: index arrays and diagonals, read once.
#include "core/validation.hpp"

#include <algorithm>
#include <type_traits>

#include "core/arithmetic.hpp"
#include "cpu/faults.hpp"

namespace diagsparse {

namespace {

constexpr int64 kChunk = 1 << 15;   // lines, entries or values of a task
constexpr int64 kAtOnce = 1 << 12;  // indices that are counted before their lines

template <class I>
bool outside(I index, int64 extent) {
  return index < 0 || static_cast<int64>(index) >= extent;
}

// Whether the lines [first, last) are valid, with few and vectorizable operations per index: indices decrease only
// where a line begins, and neither i nor extent - 1 - i has its sign bit set.
template <class P, class I>
bool in_order(const P* indptr, const I* indices, int64 first, int64 last, int64 extent) {
  using Bits = std::make_unsigned_t<I>;
  const int64 begin = indptr[first], end = indptr[last];
  if (begin == end) return true;
  const auto last_index = static_cast<Bits>(std::min<int64>(extent, std::numeric_limits<I>::max()) - 1);
  Bits signs = static_cast<Bits>(indices[begin]) | (last_index - static_cast<Bits>(indices[begin]));
  int64 falls = 0;
  for (int64 e = begin + 1, stop; e < end; e = stop) {
    stop = std::min(end, e + kAtOnce);
    I falls_here = 0;  // a count of the same width as an index
    for (int64 i = e; i < stop; ++i) {
      signs |= static_cast<Bits>(indices[i]) | (last_index - static_cast<Bits>(indices[i]));
      falls_here += indices[i] <= indices[i - 1];
    }
    falls += falls_here;
  }
  for (int64 i = first; i < last; ++i) {
    const int64 e = indptr[i];
    if (e > begin && e < indptr[i + 1]) falls -= indices[e] <= indices[e - 1];
  }
  return falls == 0 && extent > 0 && static_cast<I>(signs) >= 0;
}

template <class P, class I>
Fault in_lines(const P* indptr, const I* indices, int64 count, int64 lines, int64 extent) {
  if (indptr[0] != 0) return {Fault::pointers, 0};
  const Fault falling = first_fault(lines, kChunk, lines, [&](int64 first, int64 last) {
    for (int64 i = first; i < last; ++i) {
      if (indptr[i + 1] < indptr[i]) return FirstFaults{.pointers = i + 1};
    }
    return FirstFaults{};
  });
  if (falling.kind != Fault::none) return falling;
  if (indptr[lines] != count) return {Fault::pointers, lines};
  return first_fault(lines, kChunk, count, [&](int64 first, int64 last) {
    FirstFaults result;
    if (in_order(indptr, indices, first, last, extent)) return result;
    for (int64 i = first; i < last; ++i) {
      for (int64 e = indptr[i]; e < indptr[i + 1]; ++e) {
        if (outside(indices[e], extent)) result.update(result.outside, e);
        else if (e > indptr[i] && indices[e] <= indices[e - 1]) result.update(result.order, e);
      }
    }
    return result;
  });
}

// Calls f with a pointer to the array's integers.
template <class F>
Fault with_integers(const Array& a, const F& f) {
  if (a.dtype == DType::i32) return f(a.as<const std::int32_t>());
  if (a.dtype == DType::i64) return f(a.as<const std::int64_t>());
  throw std::invalid_argument(std::string("indices of type ") + dtype_name(a.dtype) + ", expected int32 or int64");
}

}  // namespace

Fault fault_in_lines(const Array& indptr, const Array& indices, int64 lines, int64 extent) {
  if (indptr.size() != lines + 1) return {Fault::pointers, std::min(indptr.size(), lines + 1)};
  return with_integers(indptr, [&](const auto* p) {
    return with_integers(indices, [&](const auto* i) { return in_lines(p, i, indices.size(), lines, extent); });
  });
}

Fault fault_in_pairs(const Array& row, const Array& col, int64 rows, int64 cols) {
  const auto *i = row.as<const std::int32_t>(), *j = col.as<const std::int32_t>();
  return first_fault(row.size(), kChunk, row.size(), [&](int64 first, int64 last) {
    FirstFaults result;
    for (int64 e = first; e < last; ++e) {
      const bool follows = e == 0 || i[e] > i[e - 1] || (i[e] == i[e - 1] && j[e] > j[e - 1]);
      if (outside(i[e], rows) || outside(j[e], cols)) result.update(result.outside, e);
      else if (!follows) result.update(result.order, e);
    }
    return result;
  });
}

bool all_real(const Array& values, int64 first, int64 count) {
  return with_value_type(values.dtype, [&]<class T>(T) {
    if constexpr (is_complex<T>) {
      const T* v = values.as<const T>() + first;
      const Fault complex_value = first_fault(count, kChunk, count, [&](int64 begin, int64 end) {
        for (int64 t = begin; t < end; ++t) {
          if (v[t].im != 0) return FirstFaults{.order = t};
        }
        return FirstFaults{};
      });
      return complex_value.kind == Fault::none;
    } else {
      return true;
    }
  });
}

}  // namespace diagsparse
