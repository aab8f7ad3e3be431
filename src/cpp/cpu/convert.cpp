// Conversions on the CPU: copies of diagonals, csr to diagonals, entries outside given diagonals.
#include "core/convert.hpp"

#include <algorithm>
#include <limits>

#include "core/arithmetic.hpp"
#include "core/compressed_rows.hpp"
#include "core/summary.hpp"
#include "core/validation.hpp"
#include "cpu/entries_in_order.hpp"

namespace diagsparse {

namespace {

constexpr int64 kRows = 16384;  // rows of a task

// A task: elements [first, last) of a move.
struct MoveChunk {
  const Move* move;
  int64 first, last;
};

struct MoveChunks {
  std::vector<MoveChunk> all;
  int64 elements = 0;

  explicit MoveChunks(const std::vector<Move>& moves) {
    for (const Move& m : moves) {
      for (int64 t = 0; t < m.length; t += kRows) all.push_back({&m, t, std::min(m.length, t + kRows)});
      elements += m.length;
    }
  }
  int64 count() const { return static_cast<int64>(all.size()); }
};

// Calls f(from, to, count) for consecutive elements of a chunk that are contiguous in the source and in the target: the
// positions of the first of them, and their number. Together they are all elements, in order.
template <class F>
void for_each_run(const MoveChunk& chunk, const F& f) {
  const Elements &from = chunk.move->from, &to = chunk.move->to;
  const auto passed = [&](const Elements& e) { return e.period > 0 ? (e.phase + chunk.first) % e.period : 0; };
  int64 of_from = passed(from), of_to = passed(to), t = chunk.first;  // elements of the period that are passed
  while (t < chunk.last) {
    int64 count = chunk.last - t;
    if (from.period > 0) count = std::min(count, from.period - of_from);
    if (to.period > 0) count = std::min(count, to.period - of_to);
    f(from.start + (from.period > 0 ? of_from : t), to.start + (to.period > 0 ? of_to : t), count);
    t += count;
    if ((of_from += count) == from.period) of_from = 0;
    if ((of_to += count) == to.period) of_to = 0;
  }
}

template <class S, class T>
void move_values(const MoveChunks& move_chunks, const S* in, T* out, Scalar alpha, bool accumulate) {
  const Factor<T> scale(alpha);
  parallel_for(move_chunks.count(), move_chunks.elements, [&](int64 task) {
    const MoveChunk& chunk = move_chunks.all[task];
    for_each_run(chunk, [&, conjugated = chunk.move->conjugated](int64 from, int64 to, int64 count) {
      for (int64 i = 0; i < count; ++i) {
        const T value = scale * convert<T>(conjugate_if(conjugated, in[from + i]));
        out[to + i] = accumulate ? out[to + i] + value : value;
      }
    });
  });
}

}  // namespace

void add_diagonals(Scalar alpha, const Matrix& from, Op op, Matrix& to, bool accumulate) {
  const std::vector<Move> moves = shared_diagonals(from, op, to);
  const MoveChunks move_chunks(moves);
  with_value_type(from.dtype, [&]<class S>(S) {
    with_value_type(to.dtype, [&]<class T>(T) {
      if constexpr (is_complex<T> || !is_complex<S>) {
        move_values(move_chunks, from.values.as<S>(), to.values.as<T>(), alpha, accumulate);
      } else {
        throw std::invalid_argument(std::string("astype: ") + dtype_name(from.dtype) + " values do not fit " +
                                    dtype_name(to.dtype) + "; the imaginary parts would be lost");
      }
    });
  });
}

std::optional<int64> differing_diagonal(const Matrix& packed, const Matrix& full) {
  const bool hermitian = packed.layout().packing.symmetry == Symmetry::hermitian;
  const std::vector<Move> moves = shared_diagonals(packed, {}, full);
  const MoveChunks move_chunks(moves);
  std::vector<char> differs(move_chunks.all.size(), 0);
  with_value_type(full.dtype, [&]<class T>(T) {
    const T *in = packed.values.as<T>(), *expected = full.values.as<T>();
    parallel_for(move_chunks.count(), move_chunks.elements, [&](int64 task) {
      const MoveChunk& chunk = move_chunks.all[task];
      const bool conjugated = chunk.move->conjugated, real = hermitian && chunk.move->offset == 0;
      for_each_run(chunk, [&](int64 from, int64 to, int64 count) {
        bool found = false;
        for (int64 i = 0; i < count; ++i) {
          const T v = expected[to + i];
          found |= !same(conjugate_if(conjugated, in[from + i]), v) || (real && !same(v, conjugate_if(true, v)));
        }
        if (found) differs[task] = 1;
      });
    });
  });
  for (std::size_t p = 0; p < move_chunks.all.size(); ++p) {
    if (differs[p]) return move_chunks.all[p].move->offset;
  }
  return std::nullopt;
}

namespace {

constexpr int64 kNotStored = std::numeric_limits<int64>::min();

// Calls f(first), where first(offset) is the position of row 0 of a diagonal, or kNotStored if it is not stored.
template <class F>
void with_starts(const Matrix& csr, const Layout& layout, const F& f) {
  const auto start = [](const Span& s) { return s.start - s.row; };
  if (!table_is_worthwhile(csr.rows, csr.cols, csr.values.size())) {
    const ByOffset spans_by_offset(layout.spans);
    return f([&](int64 offset) {
      const int64 index = spans_by_offset.find(offset);
      return index < 0 ? kNotStored : start(layout.spans[index]);
    });
  }
  const bool any = !layout.spans.empty();
  const int64 low = any ? layout.spans.front().offset : 0, high = any ? layout.spans.back().offset : -1;
  std::vector<int64> starts(high - low + 1, kNotStored);  // of all offsets from the lowest to the highest
  for (const Span& s : layout.spans) starts[s.offset - low] = start(s);
  f([table = starts.data(), low, size = starts.size()](int64 offset) {
    const auto k = static_cast<std::size_t>(offset - low);
    return k < size ? table[k] : kNotStored;
  });
}

// Whether row j has entries on the same diagonals as row j - 1, which has `count` entries.
template <class T>
bool same_diagonals(const Csr<T>& a, int64 j, int64 count) {
  if (a.indptr[j + 1] - a.indptr[j] != count) return false;
  const std::int32_t *const here = a.indices + a.indptr[j], *const before = here - count;
  if (here[0] != before[0] + 1 || here[count - 1] != before[count - 1] + 1) return false;  // mostly settles it
  std::int32_t differ = 0;
  for (int64 e = 0; e < count; ++e) differ |= here[e] - before[e] - 1;
  return differ == 0;
}

// values[first(offset) + i] = A[i, i + offset] for every entry on a stored diagonal.
template <class T, class F>
void scatter_rows(const Csr<T>& a, T* values, const F& first) {
  constexpr int64 kFew = 16, kTogether = 128;  // entries of a row, and rows, that are written diagonal by diagonal
  constexpr int64 kAlone = 64;                 // rows that differ from the next one, after which none are compared
  parallel_for((a.rows + kRows - 1) / kRows, a.indptr[a.rows], [&](int64 task) {
    const int64 end = std::min(a.rows, (task + 1) * kRows);
    for (int64 i = task * kRows, rows = 1, alone = 0; i < end; i += rows) {
      const int64 begin = a.indptr[i], count = a.indptr[i + 1] - begin, most = std::min(end - i, kTogether);
      rows = 1;
      if (0 < count && count <= kFew && alone < kAlone) {
        while (rows < most && same_diagonals(a, i + rows, count)) ++rows;
      }
      const auto each = [&](const auto& write) {
        for (int64 e = begin; e < begin + count; ++e) {
          const int64 row_0 = first(a.indices[e] - i);
          if (row_0 != kNotStored) write(values + row_0 + i, a.values + e);
        }
      };
      if (rows == 1) {
        ++alone;
        each([](T* to, const T* from) { *to = *from; });
      } else {
        each([&](T* to, const T* from) {
          for (int64 r = 0; r < rows; ++r) to[r] = from[r * count];
        });
      }
    }
  });
}

}  // namespace

void scatter_to_diagonals(const Matrix& csr, Matrix& to) {
  with_value_type(csr.dtype, [&]<class T>(T) {
    with_starts(csr, to.layout(), [&](const auto& first) { scatter_rows(Csr<T>::of(csr), to.values.as<T>(), first); });
  });
}

Matrix entries_outside(const Matrix& csr, const Layout& diagonals) {
  Array indptr = Array::empty(DType::i64, {csr.rows + 1});
  std::vector<Array> result;
  with_value_type(csr.dtype, [&]<class T>(T) {
    const Csr<T> a = Csr<T>::of(csr);
    LineChunks chunks;
    for (int64 i = 0; i < a.rows; i += kRows) {
      const int64 end = std::min(a.rows, i + kRows);
      chunks.add(a.indptr[end], end);
    }
    with_starts(csr, diagonals, [&](const auto& first) {
      result = entries_in_order({DType::i32, csr.dtype}, chunks, indptr.as<int64>(),
                                [&](const auto& arrays, int64 t, int64 to) {
                                  auto* const columns = arrays[0].template as<std::int32_t>();
                                  T* const values = arrays[1].template as<T>();
                                  for (int64 i = chunks.lines[t]; i < chunks.lines[t + 1]; ++i) {
                                    for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
                                      if (first(a.indices[e] - i) != kNotStored) continue;
                                      columns[to] = a.indices[e];
                                      values[to++] = a.values[e];
                                    }
                                    indptr.as<int64>()[i + 1] = to;
                                  }
                                  return to;
                                });
    });
  });
  return compressed(*common, csr.rows, csr.cols, std::move(result[0]), std::move(indptr), std::move(result[1]));
}

}  // namespace diagsparse
