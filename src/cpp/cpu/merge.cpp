// Combines csr, csc and coo matrices element by element on the CPU: a merge of their sorted entries.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/convert.hpp"
#include "cpu/sorted_entries.hpp"
#include "cpu/values.hpp"

namespace diagsparse {

namespace {

// Calls f(first, last) for chunks of [0, count), in parallel.
template <class F>
void in_chunks(int64 count, const F& f) {
  parallel_for((count + kEntries - 1) / kEntries, count,
               [&](int64 t) { f(t * kEntries, std::min(count, (t + 1) * kEntries)); });
}

// How elements of A and B are combined; in a difference, which is a sum, those of B change their sign.
template <class T, Combine How, bool Difference = false>
struct Operation {
  using Result = std::conditional_t<is_comparison(How), std::uint8_t, T>;
  static constexpr bool keeps_unmatched = How == Combine::sum;  // elements that only one of both stores

  static Result both(T u, T v) {
    if constexpr (How == Combine::sum) return u + right(v);
    else if constexpr (is_comparison(How)) return !is_zero(combined(How, u, v));
    else return combined(How, u, v);
  }
  static Result left(T u) {
    if constexpr (How == Combine::sum) return u;
    else return both(u, T{});
  }
  static Result right(T v) {
    if constexpr (How == Combine::sum) return Difference ? Real<T>(-1) * v : v;
    else return both(T{}, v);
  }
};

// Calls f with the operation `how`.
template <class T, class F>
void with_operation(Combine how, bool difference, const F& f) {
  switch (how) {
    case Combine::sum: return difference ? f(Operation<T, Combine::sum, true>()) : f(Operation<T, Combine::sum>());
    case Combine::product: return f(Operation<T, Combine::product>());
    case Combine::maximum: return f(Operation<T, Combine::maximum>());
    case Combine::minimum: return f(Operation<T, Combine::minimum>());
    case Combine::not_equal: return f(Operation<T, Combine::not_equal>());
    case Combine::less: return f(Operation<T, Combine::less>());
  }
}

// Combines the entries of a and b between two cuts, and writes them to `out` from position `to` on.
template <class Operation, class T, class Positions>
int64 merge_task(const Entries<T, Positions> a, const Entries<T, Positions> b,
                 const Entries<typename Operation::Result, Positions> out, bool zeros, const Cut& cut, const Cut& end,
                 int64 to) {
  const bool keep_unmatched = zeros && Operation::keeps_unmatched;
  const auto put = [&out, &to](auto key, auto value, bool stays) {
    out.positions.set(to, key);
    out.values[to] = value;
    to += stays || !is_zero(value);
  };
  const auto merge = [&] [[gnu::always_inline]] (int64 i, int64 i_end, int64 j, int64 j_end) {
    const auto put_a = [&](auto key) { put(key, Operation::left(a.values[i++]), keep_unmatched); };
    const auto put_b = [&](auto key) { put(key, Operation::right(b.values[j++]), keep_unmatched); };
    while (i < i_end && j < j_end) {
      const auto x = a.positions[i], y = b.positions[j];
      if (x == y) {
        const T u = a.values[i++], v = b.values[j++];
        put(x, Operation::both(u, v), zeros);
      } else if (x < y) {
        put_a(x);
      } else {
        put_b(y);
      }
    }
    while (i < i_end) put_a(a.positions[i]);
    while (j < j_end) put_b(b.positions[j]);
  };
  if constexpr (Positions::in_lines) {
    for (int64 i = cut.line; i < end.line; ++i) {
      merge(a.start[i], a.start[i + 1], b.start[i], b.start[i + 1]);
      out.start[i + 1] = to;
    }
  } else {
    merge(cut.a, end.a, cut.b, end.b);
  }
  return to;
}

// An operand in the format of the result, with values in its type that include the factor.
Matrix operand(const ScaledMatrix& t, Scalar factor, const Format& format, DType dtype) {
  Matrix m = *t.matrix;
  Op op = t.op;
  if (m.format != format.name || op.transposed) {
    m = convert_entries(m, op, format);
    op = {};
  }
  if (m.dtype == dtype && !op.conjugated && factor == 1.0) return m;
  return {m.structure, values_as(dtype, m.values, op.conjugated, factor)};
}

template <class T, class Positions>
Matrix merged(const Matrix& a, const Matrix& b, Combine how, bool difference, bool zeros) {
  const Entries<T, Positions> left(a), right(b);
  Cuts cuts;
  if constexpr (Positions::in_lines) cuts = cuts_in_lines(left.start, right.start, a.index("indptr").size() - 1);
  else cuts = cuts_in_pairs(left.positions, left.count, right.positions, right.count);
  const auto write_task = [&](const std::vector<Array>& arrays, int64* start, int64 t, int64 to) {
    with_operation<T>(how, difference, [&](auto operation) {
      using Operation = decltype(operation);
      const Entries<typename Operation::Result, Positions> out(arrays, start);
      to = merge_task<Operation>(left, right, out, zeros, cuts[t], cuts[t + 1], to);
    });
    return to;
  };
  return entries_by_tasks(a, is_comparison(how) ? DType::u8 : a.dtype, cuts, write_task);
}

// The entries e of `a` for which value(e) is not 0, with these values of type T. Flags (u8) become 1.
template <class T, class Positions, class F>
Matrix filtered(const Matrix& a, const F& value) {
  constexpr bool flags = std::is_same_v<T, std::uint8_t>;
  const Positions positions(positions_of(a));
  const int64 count = a.values.size();
  const int64* from = nullptr;
  Cuts cuts;
  if constexpr (Positions::in_lines) {
    const int64 lines = a.index("indptr").size() - 1;
    from = a.index("indptr").as<int64>();
    cuts = cuts_in_lines(from, std::vector<int64>(lines + 1, 0).data(), lines);
  } else {
    for (int64 e = 0; e < count; e += kEntries) cuts.push_back({0, e, 0});
    cuts.push_back({0, count, 0});
  }
  const auto write_task = [&cuts, positions, from, value](const std::vector<Array>& arrays, int64* start, int64 t,
                                                          int64 to) {
    const Entries<T, Positions> out(arrays, start);
    const auto copy = [positions, out, value, &to](int64 first, int64 last) {
      for (int64 e = first; e < last; ++e) {
        const T result = value(e);
        out.positions.set(to, positions[e]);
        if constexpr (!flags) out.values[to] = result;
        to += !is_zero(result);
      }
    };
    if constexpr (Positions::in_lines) {
      for (int64 i = cuts[t].line; i < cuts[t + 1].line; ++i) {
        copy(from[i], from[i + 1]);
        start[i + 1] = to;
      }
    } else {
      copy(cuts[t].a, cuts[t + 1].a);
    }
    return to;
  };
  Matrix result = entries_by_tasks(a, dtype_of<T>(), cuts, write_task);
  if constexpr (flags) std::memset(result.values.data, 1, result.values.nbytes());
  return result;
}

template <class T, class F>
Matrix filtered(const Matrix& a, const F& value) {
  return entry_format(a.format).pointers ? filtered<T, InLines>(a, value) : filtered<T, InPairs>(a, value);
}

// The entries of `a` that are not 0; `a` itself if all are, unless its values are flags.
Matrix without_zeros(const Matrix& a) {
  if (a.dtype == DType::u8) {
    return filtered<std::uint8_t>(a, [flags = a.values.as<std::uint8_t>()](int64 e) { return flags[e]; });
  }
  return with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* values = a.values.as<T>();
    std::atomic<bool> any_zero = false;
    in_chunks(a.values.size(), [&any_zero, values](int64 first, int64 last) {
      if (std::count_if(values + first, values + last, [](T v) { return is_zero(v); }) > 0) any_zero = true;
    });
    return any_zero ? filtered<T>(a, [values](int64 e) { return values[e]; }) : a;
  });
}

// Combines two matrices of the same structure.
template <class T>
Matrix combined_values(const Matrix& a, const Matrix& b, Combine how, bool difference, bool zeros) {
  Matrix result;
  const T *u = a.values.as<T>(), *v = b.values.as<T>();
  with_operation<T>(how, difference, [&](auto operation) {
    using Result = typename decltype(operation)::Result;
    const auto value = [u, v](int64 e) { return decltype(operation)::both(u[e], v[e]); };
    if constexpr (!std::is_same_v<Result, T>) {
      result = filtered<Result>(a, value);
    } else {
      result = {a.structure, Array::empty(a.dtype, a.values.shape)};
      T* to = result.values.as<T>();
      in_chunks(a.values.size(), [=](int64 first, int64 last) {
        for (int64 e = first; e < last; ++e) to[e] = value(e);
      });
      if (!zeros) result = without_zeros(result);
    }
  });
  return result;
}

}  // namespace

Matrix combine_entries(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                       DType dtype) {
  Matrix a = operand(terms[0], terms[0].factor, format, dtype);
  if (terms.size() == 1) return zeros ? a : without_zeros(a);
  const bool difference = how == Combine::sum && terms[1].factor == -1.0;  // saves a pass over its values
  const Matrix b = operand(terms[1], difference ? 1.0 : terms[1].factor, format, dtype);
  return with_value_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if (a.structure->same_as(*b.structure)) return combined_values<T>(a, b, how, difference, zeros);
    return entry_format(format.name).pointers ? merged<T, InLines>(a, b, how, difference, zeros)
                                              : merged<T, InPairs>(a, b, how, difference, zeros);
  });
}

}  // namespace diagsparse
