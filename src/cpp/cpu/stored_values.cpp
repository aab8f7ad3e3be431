// Counting, scaling and reading the stored values of any format, on the CPU.
#include <algorithm>

#include "core/arithmetic.hpp"
#include "core/convert.hpp"
#include "core/elementwise.hpp"
#include "core/summary.hpp"
#include "cpu/dense.hpp"
#include "cpu/parallel.hpp"
#include "cpu/values.hpp"

namespace diagsparse {

namespace {

constexpr int64 kValues = 1 << 15;  // values of a task
constexpr int64 kLines = 1 << 12;   // rows or columns of a task
constexpr int64 kShort = 64;        // entries of a line below which linear search is faster than bisection
constexpr int64 kAtOnce = 64;       // entries of coo that are checked before one is copied

// Calls f(first, last) for chunks of [0, count), in parallel if there is enough work.
template <class F>
void in_chunks(int64 count, int64 chunk, int64 work, const F& f) {
  parallel_for((count + chunk - 1) / chunk, work, [&](int64 t) { f(t * chunk, std::min(count, (t + 1) * chunk)); });
}

// Calls f(e, i, j) for each entry, which is A[i, j].
template <class F>
void for_each_entry(const Matrix& a, const F& f) {
  const int64 count = a.values.size();
  const EntryFormat& format = entry_format(a.format);
  if (!format.pointers) {
    const auto *row = a.index("row").as<std::int32_t>(), *col = a.index("col").as<std::int32_t>();
    in_chunks(count, kValues, count, [&](int64 first, int64 last) {
      for (int64 e = first; e < last; ++e) f(e, row[e], col[e]);
    });
    return;
  }
  const bool by_row = !format.by_column;
  const int64* start = a.index("indptr").as<int64>();
  const auto* index = a.index("indices").as<std::int32_t>();
  const int64 lines = by_row ? a.rows : a.cols;
  in_chunks(lines, kLines, count + lines, [&](int64 first, int64 last) {
    for (int64 line = first; line < last; ++line) {
      for (int64 e = start[line]; e < start[line + 1]; ++e) {
        if (by_row) f(e, line, index[e]);
        else f(e, index[e], line);
      }
    }
  });
}

}  // namespace

Array values_as(DType dtype, const Array& values, bool conjugated, Scalar factor) {
  Array result = Array::empty(dtype, values.shape);
  with_value_type(values.dtype, [&](auto s) {
    with_value_type(dtype, [&](auto t) {
      using S = decltype(s);
      using T = decltype(t);
      if constexpr (is_complex<T> || !is_complex<S>) {
        const Factor<T> scale(factor);
        const S* from = values.as<S>();
        T* to = result.as<T>();
        in_chunks(values.size(), kValues, values.size(), [&](int64 first, int64 last) {
          for (int64 e = first; e < last; ++e) to[e] = scale * convert<T>(conjugate_if(conjugated, from[e]));
        });
      } else {
        throw std::invalid_argument("complex values do not fit a real matrix");
      }
    });
  });
  return result;
}

std::vector<int64> count_runs(const Matrix& a, const std::vector<ValueRun>& runs) {
  std::vector<int64> counts(runs.size());
  with_stored_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(static_cast<int64>(runs.size()), a.values.size(), [&](int64 r) {
      const T* values = a.values.as<const T>() + runs[r].start;
      counts[r] = std::count_if(values, values + runs[r].length, [](T v) { return !is_zero(v); });
    });
  });
  return counts;
}

Array weighted_sum(Scalar alpha, const Array& a, Scalar beta, const Array& b) {
  Array result = Array::empty(a.dtype, a.shape);
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Factor<T> left(alpha), right(beta);
    const T *u = a.as<T>(), *v = b.as<T>();
    T* to = result.as<T>();
    in_chunks(a.size(), kValues, a.size(), [&](int64 first, int64 last) {
      if (alpha == 1.0 && beta == 1.0) {
        for (int64 e = first; e < last; ++e) to[e] = u[e] + v[e];
      } else if (alpha == 1.0 && beta == -1.0) {
        for (int64 e = first; e < last; ++e) to[e] = u[e] + Real<T>(-1) * v[e];
      } else {
        for (int64 e = first; e < last; ++e) to[e] = left * u[e] + right * v[e];
      }
    });
  });
  return result;
}

Matrix scaled_by(const Matrix& a, bool conjugated, const Dense& dense) {
  if (dense.dtype != a.dtype) throw std::logic_error("scaled_by: the types differ");
  Matrix out(a.structure, Array::empty(a.dtype, a.values.shape));
  a.structure->clear_padding(out.values);
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T *from = a.values.as<T>(), *factors = dense.as<T>();
    const int64 row_step = dense.row_stride, col_step = dense.col_stride;
    T* to = out.values.as<T>();
    if (dynamic_cast<const Indices*>(a.structure.get())) {
      for_each_entry(a, [=](int64 e, int64 i, int64 j) {
        to[e] = conjugate_if(conjugated, from[e]) * factors[i * row_step + j * col_step];
      });
      return;
    }
    for (const Span& s : a.layout().spans) {
      const T* factor = factors + s.row * row_step + (s.row + s.offset) * col_step;
      const int64 step = row_step + col_step;
      in_chunks(s.length, kValues, s.length, [&](int64 first, int64 last) {
        for (int64 t = first; t < last; ++t) {
          to[s.start + t] = conjugate_if(conjugated, from[s.start + t]) * factor[t * step];
        }
      });
    }
  });
  return out;
}

void add_to_dense(Scalar alpha, const Matrix& a, Op op, const Dense& to, bool accumulate) {
  require_shape(a, op, to.rows, to.cols, "add_to_dense");
  const int64 row_step = op.transposed ? to.col_stride : to.row_stride;
  const int64 col_step = op.transposed ? to.row_stride : to.col_stride;
  with_value_type(a.dtype, [&](auto s) {
    with_value_type(to.dtype, [&](auto t) {
      using S = decltype(s);
      using T = decltype(t);
      if constexpr (is_complex<T> || !is_complex<S>) {
        const Factor<T> scale(alpha);
        const S* values = a.values.as<S>();
        const auto put = [=](int64 e, T* out) {
          const T value = scale * convert<T>(conjugate_if(op.conjugated, values[e]));
          *out = accumulate ? *out + value : value;
        };
        T* const out = to.as<T>();
        if (dynamic_cast<const Indices*>(a.structure.get())) {
          for_each_entry(a, [=](int64 e, int64 i, int64 j) { put(e, out + i * row_step + j * col_step); });
          return;
        }
        const std::vector<Span>& spans = a.layout().spans;
        in_chunks(a.rows, kLines, a.structure->stored(), [&](int64 first, int64 last) {
          for (const Span& s : spans) {
            for (int64 i = std::max(first, s.row); i < std::min(last, s.row + s.length); ++i) {
              put(s.start + i - s.row, out + i * row_step + (i + s.offset) * col_step);
            }
          }
        });
      } else {
        throw std::invalid_argument("complex values do not fit a real array");
      }
    });
  });
}

Array entries_on_diagonal(const Matrix& a, Op op, int64 k) {
  const int64 stored = op.transposed ? -k : k, length = diagonal_length(a.rows, a.cols, stored);
  Array out = Array::zeros(a.dtype, {length});
  const EntryFormat& format = entry_format(a.format);
  with_value_type(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* values = a.values.as<T>();
    T* to = out.as<T>();
    const int64 row = first_row(stored);
    if (!format.pointers) {
      const auto *i = a.index("row").as<std::int32_t>(), *j = a.index("col").as<std::int32_t>();
      const auto offset = static_cast<std::int32_t>(stored);
      in_chunks(a.values.size(), kValues, a.values.size(), [&](int64 first, int64 last) {
        for (; first < last; first += kAtOnce) {
          const int64 end = std::min(last, first + kAtOnce);
          int matches = 0;
          for (int64 e = first; e < end; ++e) matches += j[e] - i[e] == offset;
          for (int64 e = first; matches > 0 && e < end; ++e) {
            if (j[e] - i[e] == offset) to[i[e] - row] = conjugate_if(op.conjugated, values[e]);
          }
        }
      });
      return;
    }
    const bool by_row = !format.by_column;
    const int64* start = a.index("indptr").as<int64>();
    const auto* index = a.index("indices").as<std::int32_t>();
    const int64 line = by_row ? row : row + stored, other = by_row ? row + stored : row;  // of the first element
    in_chunks(length, kLines, 8 * length, [&](int64 first, int64 last) {
      for (int64 t = first; t < last; ++t) {
        const std::int32_t *found = index + start[line + t], *end = index + start[line + t + 1];
        const auto target = static_cast<std::int32_t>(other + t);
        if (end - found > kShort) found = std::lower_bound(found, end, target);
        while (found != end && *found < target) ++found;
        if (found != end && *found == target) to[t] = conjugate_if(op.conjugated, values[found - index]);
      }
    });
  });
  return out;
}

}  // namespace diagsparse
