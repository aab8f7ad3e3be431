// Y = A X for large blocks of columns in F order: what kernel "row" runs if the values of A have the type of X, and few
// diagonals are alone.
//
//   op(A): m x n, as in diagonals/row.cu.  X: n x k, Y: m x k, columns contiguous.  The terms of a sum are added in the
//   order of the list, so every run gives the same bits.
//
// A block computes some rows of Y, for all columns. It first copies the diagonals of these rows to shared memory, as
// many as fit. A thread computes a tile of four rows and kTileColumns columns in registers; neighbouring threads
// compute neighbouring rows. For four neighbouring diagonals, a group, a tile needs seven rows of X:
//
//     offsets    0  1  2  3            the diagonals of a group; some may be missing
//     row i      x0 x1 x2 x3           x0 ... x7: rows of X; x0 is a multiple of four from row i
//     row i+1       x1 x2 x3 x4
//     row i+2          x2 x3 x4 x5
//     row i+3             x3 x4 x5 x6
//
// x4 ... x7 are also the first rows of the next group. So a thread loads four rows of X per group, in packets and
// through the caches, and uses each element for up to four rows.
#pragma once

#include <cuda_pipeline.h>

#include "device/dense.cuh"
#include "device/values.cuh"
#include "kernels/matvec/packets.cuh"
#include "kernels/matvec/terms.cuh"

namespace diagsparse::cuda::matvec {

constexpr int kTileRows = 4;
template <class V>
constexpr int kTileColumns = 32 / static_cast<int>(sizeof(V));
constexpr int kTileBytes = 56 << 10;  // of shared memory per block

// Up to kTileRows neighbouring diagonals.
struct alignas(16) Group {
  int64 offset;                   // of its first diagonal, which may be missing: a multiple of kTileRows
  std::int32_t term;              // its first term, among those of the interior
  std::uint8_t mask, conjugated;  // bit s: it has the diagonal `offset` + s, whose values are to be conjugated
  std::uint8_t follows;           // the previous group is the one before
};

// The groups of the terms of the interior; cached with a matrix.
struct ResidentGroups {
  Array groups;
  int count = 0, reads = 0;  // groups; fours of rows of X that a tile reads

  ResidentGroups(const std::vector<Term>& terms, const Interior& interior) {
    std::vector<Group> found;
    for (int t = interior.term; t < interior.term_end; ++t) {
      const int64 v = terms[t].v, in_group = (v % kTileRows + kTileRows) % kTileRows, offset = v - in_group;
      if (found.empty() || found.back().offset != offset) {
        const bool follows = !found.empty() && found.back().offset == offset - kTileRows;
        found.push_back({offset, t - interior.term, 0, 0, follows});
        reads += follows ? 1 : 2;
      }
      Group& group = found.back();
      group.mask = static_cast<std::uint8_t>(group.mask | 1 << in_group);
      group.conjugated = static_cast<std::uint8_t>(group.conjugated | terms[t].conjugated << in_group);
    }
    groups = upload(found);
    count = static_cast<int>(found.size());
  }
  auto arrays() const { return std::tie(groups); }
};

inline std::shared_ptr<ResidentGroups> groups_of(const Matrix& a, Op op) {
  const Layout& layout = a.layout();
  return cached<ResidentGroups>(layout.cache(), op.transposed ? "groups T" : "groups N", [&] {
    const std::vector<Term> terms = row_sums(packed_spans_of(layout, op)).terms;
    return std::make_shared<ResidentGroups>(terms, Interior(terms, op.transposed ? a.cols : a.rows));
  });
}

// How the threads of a block are divided: `across` of them compute tiles of the same rows, and the block `rows` rows.
// `capacity`: the diagonals that fit into shared memory.
struct TileShape {
  int across, rows, capacity;

  // As many rows as possible, up to 256 if there are enough columns: a block reads those of X at both ends as well.
  template <class V>
  static TileShape of(int64 cols, int terms) {
    TileShape shape{16, kBlock / 16 * kTileRows, 0};
    const auto bytes = [&](int64 rows) { return rows * static_cast<int64>(sizeof(V)); };
    while (shape.across > 1 && (shape.across * kTileColumns<V> > cols ||
                                (shape.rows < 256 && terms * bytes(2 * shape.rows) <= kTileBytes))) {
      shape.across /= 2, shape.rows *= 2;
    }
    shape.capacity =
        static_cast<int>(std::min<int64>(std::max<int64>(kTileBytes / bytes(shape.rows), kTileRows), terms));
    return shape;
  }
};

template <class V>
__global__ void __launch_bounds__(kBlock, 2)
    multiply_tiles(const Term* terms, int count, const __grid_constant__ Interior interior, const Group* groups,
                   int group_count, const V* values, bool conj, const V* x, int64 x_col, V* y, int64 y_col, int64 rows,
                   int64 cols, const TileShape shape, const __grid_constant__ Update<V> update) {
  constexpr int width = kPacket<V>, columns = kTileColumns<V>;
  extern __shared__ __align__(16) char shared[];
  V* const of_a = reinterpret_cast<V*>(shared);
  const int along = kBlock / shape.across, across = threadIdx.x / along;
  const int own_row = kTileRows * (threadIdx.x % along), all = interior.term_end - interior.term;
  const int64 start = static_cast<int64>(blockIdx.x) * shape.rows, row = start + own_row;
  // Tiles read up to 2 kTileRows rows of X beyond those of the terms.
  const bool inside = start >= interior.first + 2 * kTileRows && start + shape.rows + 2 * kTileRows <= interior.last;

  for (int64 base = 0; base < cols; base += shape.across * columns) {
    const int64 column = base + across * columns;
    const auto exists = [&](int c) { return column + c < cols; };
    V sums[kTileRows][columns] = {};
    if (inside) {
      const auto read = [&](V(&to)[kTileRows][columns], int64 offset) {
        const V* from = x + row + offset + min(column, cols - 1) * x_col;
#pragma unroll
        for (int c = 0; c < columns; ++c) {
#pragma unroll
          for (int r = 0; r < kTileRows; r += width) {
            V elements[width];
            const uint4 packet = __ldg(reinterpret_cast<const uint4*>(from + r));
            memcpy(elements, &packet, sizeof packet);
#pragma unroll
            for (int e = 0; e < width; ++e) to[r + e][c] = elements[e];
          }
          if (exists(c + 1)) from += x_col;  // the sums of other columns are not written
        }
      };
      V low[kTileRows][columns], high[kTileRows][columns];
      const V* a = nullptr;  // the values of the next diagonal
      const auto add = [&](const Group& group, const V(&first)[kTileRows][columns],
                           const V(&second)[kTileRows][columns]) {
#pragma unroll
        for (int s = 0; s < kTileRows; ++s) {
          if ((group.mask >> s & 1) == 0) continue;
          const bool conjugate = is_complex<V> && conj != static_cast<bool>(group.conjugated >> s & 1);
          V factors[kTileRows];
          memcpy(factors, __builtin_assume_aligned(a, 16), sizeof factors);
          a += shape.rows;
#pragma unroll
          for (int r = 0; r < kTileRows; ++r) {
            const V factor = conjugate_if(conjugate, factors[r]);
            const auto& of_x = s + r < kTileRows ? first[(s + r) % kTileRows] : second[(s + r) % kTileRows];
#pragma unroll
            for (int c = 0; c < columns; ++c) sums[r][c] += multiply(factor, of_x[c]);
          }
        }
      };
      for (int g = 0; g < group_count;) {
        const int term = groups[g].term;
        const auto next_term = [&](int k) { return k < group_count ? groups[k].term : all; };
        int end = g;  // of the groups whose diagonals are in shared memory
        while (end < group_count && next_term(end + 1) - term <= shape.capacity) ++end;
        if (base == 0 || end - g < group_count) {
          __syncthreads();
          for (int t = threadIdx.x / 32; t < next_term(end) - term; t += kBlock / 32) {  // a warp copies a diagonal
            const V* const diagonal = values + terms[interior.term + term + t].u + start;
            for (int r = threadIdx.x % 32; r < shape.rows; r += 32) {
              __pipeline_memcpy_async(of_a + t * shape.rows + r, diagonal + r, sizeof(V));
            }
          }
          __pipeline_commit();
          __pipeline_wait_prior(0);
          __syncthreads();
        }
        a = of_a + own_row;
        while (g < end) {
          Group group = groups[g];
          read(low, group.offset);
          while (true) {
            read(high, group.offset + kTileRows);
            add(group, low, high);
            if (++g == end || !(group = groups[g]).follows) break;
            read(low, group.offset + kTileRows);
            add(group, high, low);
            if (++g == end || !(group = groups[g]).follows) break;
          }
        }
      }
    } else {
#pragma unroll 1
      for (int t = 0; t < count; ++t) {
        const Term term = terms[t];
        const bool conjugate = is_complex<V> && conj != static_cast<bool>(term.conjugated);
#pragma unroll
        for (int r = 0; r < kTileRows; ++r) {
          const int64 i = row + r;
          if (i < term.first || i >= term.last) continue;
          const V value = conjugate_if(conjugate, load(values + term.u + i));
#pragma unroll
          for (int c = 0; c < columns; ++c) {
            if (exists(c)) sums[r][c] += multiply(value, load(x + term.v + i + (column + c) * x_col));
          }
        }
      }
    }
#pragma unroll
    for (int c = 0; c < columns; ++c) {
#pragma unroll
      for (int r = 0; r < kTileRows; r += width) {
        if (!exists(c)) continue;
        V packet[width];
#pragma unroll
        for (int e = 0; e < width; ++e) packet[e] = sums[r + e][c];
        V* const to = y + row + r + (column + c) * y_col;
        if (row + r + width <= rows) {
          update_packet(update, to, packet);
        } else {
#pragma unroll
          for (int e = 0; e < width; ++e) {
            if (row + r + e < rows) update.one(to + e, packet[e]);
          }
        }
      }
    }
  }
}

// Returns whether the product has been computed.
template <class V>
bool multiply_in_tiles(const Matrix& a, Op op, const ResidentTerms& resident_data, const Dense& x, const Dense& y,
                       const Update<V>& update) {
  // H100, a band of 27: 16 columns of complex128 524 us, with copies in C order 476 us; 64 columns 1759 and 2331 us.
  constexpr int64 least_columns = sizeof(V) > 8 ? 64 : 8, least_elements = 1 << 20;
  if (x.cols < least_columns || x.rows * x.cols < least_elements || x.row_stride != 1 || y.row_stride != 1)
    return false;
  if (x.col_stride % kPacket<V> != 0 || reinterpret_cast<std::uintptr_t>(x.data) % 16 != 0) return false;
  const Interior& interior = resident_data.interior;
  const int terms = interior.term_end - interior.term;
  const auto groups = groups_of(a, op);
  // H100, double precision: 7-point stencil on 128^3 points, 11 reads, 16 columns of X 381 us, with copies in C order
  // 641 us; 27-point stencil on 100^3 points, 8 columns 258 and 286 us.
  if (terms == 0 || groups->reads > std::max(16, terms)) return false;
  if (4 * (interior.last - interior.first) < 3 * y.rows) return false;
  const TileShape shape = TileShape::of<V>(x.cols, terms);
  const int shared = shape.capacity * shape.rows * static_cast<int>(sizeof(V));
  if (shared > limits<multiply_tiles<V>>().shared) return false;
  launch_shared("matvec row", multiply_tiles<V>, dim3(static_cast<unsigned>(ceil_div(y.rows, shape.rows))),
                dim3(kBlock), shared, resident_data.terms_begin(), resident_data.count, interior,
                groups->groups.as<const Group>(), groups->count, a.values.as<V>(), op.conjugated, x.as<const V>(),
                x.col_stride, y.as<V>(), y.col_stride, y.rows, x.cols, shape, update);
  return true;
}

}  // namespace diagsparse::cuda::matvec
