// ellcsr on the CPU: from rows and to rows, the gate, and the kernel.
#include "formats/ellcsr.hpp"

#include <algorithm>
#include <numeric>

#include "core/convert.hpp"
#include "core/kernel_table.hpp"
#include "cpu/parallel.hpp"
#include "formats/csr.hpp"
#include "kernels/entry_sums.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse {

namespace {

constexpr int64 kUnasked = 1 << 16;  // rows between two questions whether to go on
constexpr int64 kImageCost = 8;      // places that a sum of an image is worth

// Entries of the leading part of row i, up to its padding.
template <class T, class I>
int64 length_of(const EllCsr<T, I>& a, int64 i) {
  const I* const head = a.head.indices + i * a.width;
  if (a.width == 0 || !Columns<I>::padding(head[a.width - 1])) return a.width;
  return std::partition_point(head, head + a.width, [](I j) { return !Columns<I>::padding(j); }) - head;
}

// Kernel "row" of y = alpha op(A) x + beta y.
// op = N: a row at a time, its leading part plus the rest (kernels/entry_sums.hpp); blocks of rows with equal work on
//         each thread.
// op = T: kernels/scatter.hpp, row by row.
// One triangle: the rest of it so, and what leads with its mirror image.
template <class U, class V>
struct EllCsrMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    with_index_type(m.index("ell_indices").dtype, [&](auto zero) {
      using I = decltype(zero);
      if (!has_mirror(m)) return product<I>(m, op, alpha, x, beta, y);
      product<I>(rest_of(m), op, alpha, x, beta, y);
      if constexpr (sizeof(I) > 1) {  // columns of 8 bits have no mirror images
        const bool plain = x.row_stride == 1 && !op.conjugated && m.structure->symmetry() == Symmetry::symmetric;
        plain ? add_mirrored<true, I>(m, op, alpha, x, y) : add_mirrored<false, I>(m, op, alpha, x, y);
      }
    });
  }

 private:
  template <class I>
  static void product(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto a = EllCsr<U, I>::of(m);
    if (op.transposed) {
      const auto cut = [&](int64 pieces, int64 k) {
        return border(a.rows, work_before(a, a.rows), pieces, k, [&](int64 i) { return work_before(a, i); });
      };
      const auto walk = [&](int64 begin, int64 end, const auto& take) { walk_rows(a, begin, end, take); };
      return scatter<U, V>(m, op.conjugated, alpha, x, beta, y, cut, walk);
    }
    // The common case, neighbouring elements and no conjugate, as a loop of its own.
    if (x.row_stride == 1 && !op.conjugated) gather<true>(a, false, alpha, x, beta, y);
    else gather<false>(a, op.conjugated, alpha, x, beta, y);
  }

  // Adds the product with what leads and with its mirror image, and reads what leads once. Shares of the rows, which
  // follow from the matrix alone, run side by side, each with sums of its own for the columns of the image; these meet
  // in the order of the shares.
  template <bool Plain, class I>
  static void add_mirrored(const Matrix& m, Op op, Scalar alpha, const Dense& x, const Dense& y) {
    const auto a = EllCsr<U, I>::of(m);
    const Update<T> update(alpha, 1.0);
    const MirrorOps conj = mirror_ops(m, op);
    const int64 columns = mirrored_columns(m), places = a.rows * a.width, step = Plain ? 1 : x.row_stride;
    if (columns == 0 || places == 0) return;
    const int64 shares = std::clamp<int64>(places / (kImageCost * columns), 1, std::min(kMostShares, a.rows));
    const Array room = Array::empty(dtype_of<T>(), {shares * columns});
    for (int64 c = 0; c < x.cols; ++c) {
      const V* const in = x.as<V>() + c * x.col_stride;
      T* const out = y.as<T>() + c * y.col_stride;
      parallel_for(shares, 2 * places, [&](int64 share) {
        T* const images = room.as<T>() + share * columns;
        std::fill_n(images, columns, T{});
        for (int64 i = a.rows * share / shares, end = a.rows * (share + 1) / shares; i < end; ++i) {
          if (i % kUnasked == kUnasked - 1) checkpoint();
          update.one(out + i * y.row_stride, mirror_row<Plain>(a, i, conj, in, step, images));
        }
      });
      parallel_for(kMostShares, shares * columns, [&](int64 task) {
        for (int64 j = columns * task / kMostShares; j < columns * (task + 1) / kMostShares; ++j) {
          T sum = room.as<T>()[j];
          for (int64 share = 1; share < shares; ++share) sum += room.as<T>()[share * columns + j];
          update.one(out + j * y.row_stride, sum);
        }
      });
    }
  }

  // The sum of what leads in row i. Its mirror image is added to `images`, all of whose elements are different ones: so
  // four are read before they are written.
  template <bool Plain, class I>
  static T mirror_row(const EllCsr<U, I>& a, int64 i, MirrorOps conj, const V* in, int64 step, T* images) {
    const V factor = in[i * step];
    const int64 count = length_of(a, i);
    const U* const values = a.head_values + i * a.width;
    const I* const indices = a.head.indices + i * a.width;
    const auto term = [&](int64 w, int64 j) {
      return multiply(Plain ? values[w] : conjugate_if(conj.entries, values[w]), in[j * step]);
    };
    const auto image = [&](int64 w, int64 j) {
      return images[j] + multiply(Plain ? values[w] : conjugate_if(conj.images, values[w]), factor);
    };
    T sum{}, second{}, third{}, fourth{};
    for (int64 first = 0; first < count; first += kChunk) {
      const std::int32_t base = sizeof(I) < 4 && a.head.bases ? a.head.bases[i * a.chunks + first / kChunk] : 0;
      const int64 stop = std::min(count, first + kChunk);
      int64 w = first;
      for (; w + 4 <= stop; w += 4) {
        fetch_ahead(indices + w, values + w);
        const int64 j0 = base + indices[w], j1 = base + indices[w + 1], j2 = base + indices[w + 2],
                    j3 = base + indices[w + 3];
        sum += term(w, j0), second += term(w + 1, j1), third += term(w + 2, j2), fourth += term(w + 3, j3);
        const T i0 = image(w, j0), i1 = image(w + 1, j1), i2 = image(w + 2, j2), i3 = image(w + 3, j3);
        images[j0] = i0, images[j1] = i1, images[j2] = i2, images[j3] = i3;
      }
      for (; w < stop; ++w) {
        const int64 j = base + indices[w];
        sum += term(w, j);
        images[j] = image(w, j);
      }
    }
    return (sum + second) + (third + fourth);
  }

  template <class I>
  static int64 work_before(const EllCsr<U, I>& a, int64 i) {
    return a.indptr[i] + i * (a.width + 1);
  }

  template <bool Plain, class I>
  static void gather(const EllCsr<U, I>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 work = work_before(a, a.rows), tasks = tasks_for(work), step = Plain ? 1 : x.row_stride;
    const auto before = [&](int64 i) { return work_before(a, i); };
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      const int64 begin = border(a.rows, work, tasks, task, before);
      const int64 end = border(a.rows, work, tasks, task + 1, before);
      for (int64 c = 0; c < x.cols; ++c) {
        const V* in = x.as<V>() + c * x.col_stride;
        T* out = y.as<T>() + c * y.col_stride;
        const auto term = [=](const U& value, int64 j) {
          return multiply(Plain ? value : conjugate_if(conj, value), in[j * step]);
        };
        for (int64 i = begin; i < end; ++i) {
          const int64 lead = i * a.width;
          T sum = sum_line<T>(a.head, lead, i * a.chunks, a.head_values, lead, lead + length_of(a, i), term);
          sum += sum_line<T>(a.rest, 0, 0, a.rest_values, a.indptr[i], a.indptr[i + 1], term);
          update.one(out + i * y.row_stride, sum);
        }
      }
    });
  }

  // Calls take(i)(j, value) for every entry, row by row.
  template <class I, class Take>
  static void walk_rows(const EllCsr<U, I>& a, int64 begin, int64 end, const Take& take) {
    for (int64 i = begin; i < end; ++i) {
      if ((i - begin) % kUnasked == kUnasked - 1) checkpoint();
      const auto add = take(i);
      for (int64 w = 0, stop = length_of(a, i); w < stop; ++w) add(a.leads(i, w), a.head_values[i * a.width + w]);
      for (int64 e = a.indptr[i], stop = a.indptr[i + 1]; e < stop; ++e) add(a.follows(e), a.rest_values[e]);
    }
  }
};

FormatKernels make() { return {{{"row", every_pair<EllCsrMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("ellcsr", kEverySet, make);

template <class F>
void for_each_row(int64 rows, int64 work, const F& f) {
  const int64 tasks = std::clamp<int64>(work / 8192, rows > 0 ? 1 : 0, std::max<int64>(1, rows));
  parallel_for(tasks, work, [&](int64 task) {
    for (int64 i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) f(i);
  });
}

}  // namespace

Matrix ellcsr_from_rows(const Matrix& m, int64 width, Leading leading) {
  Array head = Array::empty(DType::i32, {m.rows, width}), indptr = Array::zeros(DType::i64, {m.rows + 1}), rest, values;
  auto* start = indptr.as<int64>();
  const int64 places = head.size();
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Csr<T> csr = Csr<T>::of(m);
    const Csr<float> structure{csr.rows, csr.cols, csr.indptr, csr.indices, nullptr};
    for_each_row(m.rows, m.values.size(), [&](int64 i) {
      const std::int32_t* const columns = structure.indices + csr.indptr[i];
      const int64 count = csr.indptr[i + 1] - csr.indptr[i];
      start[i + 1] = leading.kept(i, columns, count) - leading.of(i, columns, count);
    });
    std::partial_sum(start, start + m.rows + 1, start);
    rest = Array::empty(DType::i32, {start[m.rows]});
    values = Array::empty(m.dtype, {places + start[m.rows]});
    for_each_row(m.rows, places + m.values.size(), [&](int64 i) {
      const int64 from = csr.indptr[i];
      const int64 end = from + leading.kept(i, csr.indices + from, csr.indptr[i + 1] - from);
      const int64 middle = end - (start[i + 1] - start[i]);
      std::int32_t* const columns = head.as<std::int32_t>() + i * width;
      T* const leads = values.as<T>() + i * width;
      std::fill(std::copy(csr.indices + from, csr.indices + middle, columns), columns + width, -1);
      std::fill(std::copy(csr.values + from, csr.values + middle, leads), leads + width, T{});
      std::copy(csr.indices + middle, csr.indices + end, rest.as<std::int32_t>() + start[i]);
      std::copy(csr.values + middle, csr.values + end, values.as<T>() + places + start[i]);
    });
  });
  return ellcsr_over(m.rows, m.cols, std::move(head), std::move(rest), std::move(indptr), m.values.size(),
                     std::move(values));
}

namespace {

// The same matrix, where f(a, i, columns, values) writes what leads in row i of `a` to new arrays.
template <class F>
Matrix moved_in_rows(const Matrix& m, const F& f) {
  const Shape leads = m.index("ell_indices").shape;
  Array head = Array::empty(DType::i32, leads), values = Array::empty(m.dtype, {m.values.size()});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const EllCsr<T> a = EllCsr<T>::of(m);
    for_each_row(m.rows, leads.size(),
                 [&](int64 i) { f(a, i, head.as<std::int32_t>() + i * a.width, values.as<T>() + i * a.width); });
    std::copy_n(a.rest_values, values.size() - leads.size(), values.as<T>() + leads.size());
  });
  return with_head(m, std::move(head), std::move(values));
}

}  // namespace

Matrix dealt(const Matrix& m) {
  return moved_in_rows(m, [](const auto& a, int64 i, std::int32_t* columns, auto* values) {
    const std::int32_t* const from = a.head.indices + i * a.width;
    Deal deal{.all = length_of(a, i)};
    std::int32_t ranks[Deal::kBanks] = {};
    for (int64 w = 0; w < deal.all; ++w) ++deal.counts[Deal::bank(from[w])];
    for (int64 w = 0; w < a.width; ++w) {
      const int bank = w < deal.all ? Deal::bank(from[w]) : 0;
      const int64 to = w < deal.all ? deal.place(ranks[bank]++, bank) : w;
      columns[to] = from[w], values[to] = a.head_values[i * a.width + w];
    }
  });
}

Matrix undealt(const Matrix& m) {
  return moved_in_rows(m, [](const auto& a, int64 i, std::int32_t* columns, auto* values) {
    const std::int32_t* const from = a.head.indices + i * a.width;
    std::vector<int64> order(a.width);
    std::iota(order.begin(), order.end(), int64{0});
    std::stable_sort(order.begin(), order.end(), [from](int64 v, int64 w) {
      return static_cast<std::uint32_t>(from[v]) < static_cast<std::uint32_t>(from[w]);  // padding is the largest
    });
    for (int64 w = 0; w < a.width; ++w) columns[w] = from[order[w]], values[w] = a.head_values[i * a.width + order[w]];
  });
}

Matrix rows_from_ellcsr(const Matrix& m) {
  Array indptr = Array::zeros(DType::i64, {m.rows + 1}), indices, values;
  auto* start = indptr.as<int64>();
  const int64 work = m.values.size() + m.rows;
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const EllCsr<T> a = EllCsr<T>::of(m);
    for_each_row(m.rows, work, [&](int64 i) { start[i + 1] = length_of(a, i) + a.indptr[i + 1] - a.indptr[i]; });
    std::partial_sum(start, start + m.rows + 1, start);
    indices = Array::empty(DType::i32, {start[m.rows]});
    values = Array::empty(m.dtype, {start[m.rows]});
    for_each_row(m.rows, work, [&](int64 i) {
      const int64 from = i * a.width, length = length_of(a, i);
      auto* const columns = std::copy_n(a.head.indices + from, length, indices.as<std::int32_t>() + start[i]);
      auto* const put = std::copy_n(a.head_values + from, length, values.as<T>() + start[i]);
      std::copy(a.rest.indices + a.indptr[i], a.rest.indices + a.indptr[i + 1], columns);
      std::copy(a.rest_values + a.indptr[i], a.rest_values + a.indptr[i + 1], put);
    });
  });
  return compressed(csr, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

Fault fault_in_ellcsr(const EllCsr<float>& a, int64 mirrored) {
  const int64 leading = a.rows * a.width;
  for (int64 i = 0; i < a.rows; ++i) {
    if (i % kUnasked == 0) checkpoint();
    std::int32_t before = -1;
    bool padding = false;
    for (int64 e = i * a.width; e < (i + 1) * a.width; ++e) {
      const std::int32_t j = a.head.indices[e];
      if (j < -1 || j >= a.end_of_head(i, mirrored)) return {Fault::outside, e};
      if (j >= 0 && (padding || j <= before)) return {Fault::order, e};
      if (j < 0) padding = true;
      else before = j;
    }
    const int64 first = a.indptr[i];
    if (!a.fits_mirror(i, mirrored)) return {Fault::outside, leading + first};
    if (first < a.indptr[i + 1] && a.follows(first) <= before) return {Fault::order, leading + first};
  }
  return {};
}

}  // namespace diagsparse
