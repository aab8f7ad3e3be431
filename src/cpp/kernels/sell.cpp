// sell on the CPU: from rows and to rows, and the gate. A task takes slices.
#include "formats/sell.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/convert.hpp"
#include "cpu/parallel.hpp"
#include "formats/csr.hpp"
#include "kernels/stored_rows.hpp"

namespace diagsparse {

namespace {

const int64* row_pointers(const Matrix& csr) { return csr.index("indptr").as<int64>(); }

constexpr int64 kCounted = 4096;  // entries of the longest row, up to which rows of each length are counted: a short table

// Writes the rows of a window by descending length, of equal ones the first first.
void order_window(const int64* start, int64 first, int64 last, std::vector<std::int32_t>& places, std::int32_t* order) {
  const auto length = [=](int64 i) { return start[i + 1] - start[i]; };
  int64 longest = 0;
  for (int64 i = first; i < last; ++i) longest = std::max(longest, length(i));
  std::int32_t* const out = order + first;
  if (longest > kCounted) {
    std::iota(out, order + last, static_cast<std::int32_t>(first));
    std::sort(out, order + last, [=](std::int32_t i, std::int32_t j) {
      return length(i) != length(j) ? length(i) > length(j) : i < j;
    });
    return;
  }
  places.assign(longest + 2, 0);  // of the next row of each length
  for (int64 i = first; i < last; ++i) ++places[longest - length(i) + 1];
  std::partial_sum(places.begin(), places.end(), places.begin());
  for (int64 i = first; i < last; ++i) out[places[longest - length(i)]++] = static_cast<std::int32_t>(i);
}

}  // namespace

Array order_rows(const Matrix& csr, int64 sigma) {
  Array made = Array::empty(DType::i32, {csr.rows});
  auto* order = made.as<std::int32_t>();
  const int64* start = row_pointers(csr);
  for_runs(csr.rows, sigma, 4 * csr.rows, [&](int64 first, int64 last) {
    std::vector<std::int32_t> places;
    for (; first < last; first += sigma) order_window(start, first, std::min(last, first + sigma), places, order);
  });
  return made;
}

int64 place_slices(const Matrix& csr, int64 height, const std::int32_t* row_order, int64* slice_indptr) {
  const int64* start = row_pointers(csr);
  slice_indptr[0] = 0;
  for_runs(csr.rows, height, csr.rows, [&](int64 first, int64 last) {
    for (; first < last; first += height) {
      int64 longest = 0;
      for (int64 p = first; p < std::min(last, first + height); ++p) {
        const int64 i = row_order ? row_order[p] : p;
        longest = std::max(longest, start[i + 1] - start[i]);
      }
      slice_indptr[first / height + 1] = longest * height;
    }
  });
  const int64 slices = slices_of(csr.rows, height);
  std::partial_sum(slice_indptr, slice_indptr + slices + 1, slice_indptr);
  return slice_indptr[slices];
}

void spread_rows(const Matrix& m, const Matrix& to) {
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Csr<T> csr = Csr<T>::of(m);
    const Sell<T> a = Sell<T>::of(to);
    auto* index = to.index("indices").as<std::int32_t>();
    auto* lengths = a.row_lengths ? to.index("row_lengths").as<std::int32_t>() : nullptr;
    T* value = to.values.as<T>();
    for_runs(a.slices * a.height, a.height, to.values.size(), [&](int64 first, int64 last) {
      for (int64 p = first; p < last; ++p) {
        const int64 i = p < a.rows ? a.row(p) : -1;
        int64 e = i < 0 ? 0 : csr.indptr[i];
        const int64 stop = i < 0 ? 0 : csr.indptr[i + 1], end = a.slice_indptr[p / a.height + 1];
        if (lengths && i >= 0) lengths[p] = static_cast<std::int32_t>(stop - e);
        for (int64 place = a.begin(p); place < end; place += a.height, ++e) {
          index[place] = e < stop ? csr.indices[e] : -1;
          value[place] = e < stop ? csr.values[e] : T{};
        }
      }
    });
  });
}

Matrix rows_from_sell(const Matrix& m) {
  return rows_from_stored<Sell>(m, Sell<float>::over(*m.structure, nullptr).height);
}

Fault fault_in_slices(const Sell<float>& a, int64 places) {
  for (int64 s = 0; s <= a.slices; ++s) {
    const int64 at = a.slice_indptr[s], before = s > 0 ? a.slice_indptr[s - 1] : 0;
    if (at < before || at > places || at % a.height != 0 || (s == 0 && at != 0)) return {Fault::pointers, s};
  }
  return a.slice_indptr[a.slices] == places ? Fault{} : Fault{Fault::pointers, a.slices};
}

Fault fault_in_row_order(const Sell<float>& a) {
  std::vector<bool> named(a.row_order ? a.rows : 0);
  for (int64 p = 0; p < static_cast<int64>(named.size()); ++p) {
    const int64 i = a.row_order[p];
    if (i < 0 || i >= a.rows || named[i]) return {Fault::pointers, p};
    named[i] = true;
  }
  return {};
}

Fault fault_in_sell(const Sell<float>& a) {
  for (int64 p = 0; a.row_lengths && p < a.rows; ++p) {
    const int64 s = p / a.height, width = (a.slice_indptr[s + 1] - a.slice_indptr[s]) / a.height;
    if (a.row_lengths[p] < 0 || a.row_lengths[p] > width) return {Fault::pointers, p};
  }
  for (int64 s = 0; s < a.slices; ++s) {
    checkpoint();
    const int64 begin = a.slice_indptr[s], width = (a.slice_indptr[s + 1] - begin) / a.height;
    for (int64 w = 0; w < width; ++w) {
      for (int64 p = s * a.height, e = begin + w * a.height; p < (s + 1) * a.height; ++p, ++e) {
        const std::int32_t j = a.columns.indices[e], before = w > 0 ? a.columns.indices[e - a.height] : 0;
        if (j < -1 || j >= a.cols || (j >= 0 && p >= a.rows)) return {Fault::outside, e};
        if (j >= 0 && w > 0 && (before < 0 || j <= before)) return {Fault::order, e};
        if (a.row_lengths && p < a.rows && (j >= 0) != (w < a.row_lengths[p])) return {Fault::pointers, p};
      }
    }
  }
  return {};
}

}  // namespace diagsparse
