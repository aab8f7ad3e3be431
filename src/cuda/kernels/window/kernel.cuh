// Y = A X, where a thread block first copies everything that its rows need into shared memory. Kernel "row" runs it for
// large matrices if X is contiguous, the data of enough rows fits into shared memory, and
//   - X is a block of columns whose rows consist of packets of 16 bytes, or
//   - X is a vector, and the stored values of A are narrower than those of X.
//
//   op(A): m x n, as in diagonals/row.cu.  X: n x k, rows one after the other.  Y: m x k.  The terms of a sum are added
//   in the order of the list, so every run gives the same bits.
//
// A segment of each diagonal is copied by a bulk copy (see fetch.cuh), and each row of X once. If rows of X are so long
// that few of them fit, a block processes a group of columns; blocks of the same rows follow each other, so that all
// but the first find A in the L2 cache. A few strips, which are neighbouring lines of a stencil's grid, together need
// fewer rows of X:
//
//     . x x x x x x .     strips; a block computes the rows y of four of them and copies the rows x of six,
//     . x y y y y x .     whereas four blocks of one strip each would copy three
//     . x y y y y x .
//     . x y y y y x .     For a block of columns, a thread computes 16 bytes of three neighbouring rows of Y. For
//     . x y y y y x .     neighbouring diagonals it reads only one row of X each: the others are those of the previous
//     . x x x x x x .     diagonal. For a vector it computes two rows, 32 apart: a warp reads and writes neighbours.
#pragma once

#include "device/dense.cuh"
#include "device/fetch.cuh"
#include "device/values.cuh"
#include "kernels/matvec/packets.cuh"
#include "kernels/matvec/terms.cuh"
#include "kernels/window/slabs.hpp"

namespace diagsparse::cuda::window {

// What products cache with a matrix, for rows of X of this size in bytes.
struct ResidentWindows {
  Policy policy;
  Slabs slabs;
  SharedLayout shared_layout;
  int terms, staged;
  Array list;
  bool worthwhile = false;

  static std::shared_ptr<ResidentWindows> result(const Policy& policy, const std::vector<Term>& terms, int64 rows,
                                                 int item, int64 row) {
    const matvec::Interior interior(terms, rows);
    const Term *begin = terms.data() + interior.term, *end = terms.data() + interior.term_end;
    const Choice choice = choose(policy, begin, end, interior.first, interior.last, rows, item, row);
    const int bytes = choice.worthwhile ? static_cast<int>(row) : 16;
    const StagedList list(begin, choice.worthwhile ? end : begin, choice.slabs, bytes);
    return std::make_shared<ResidentWindows>(policy, choice, list, SharedLayout(choice.slabs, list, item, bytes));
  }

  ResidentWindows(const Policy& policy, const Choice& choice, const StagedList& list, const SharedLayout& shared_layout)
      : policy(policy),
        slabs(choice.slabs),
        shared_layout(shared_layout),
        terms(list.runs / slabs.strips),
        staged(static_cast<int>(list.items.size())),
        list(upload(list.items)),
        worthwhile(choice.worthwhile) {}

  // The number of threads that leaves the fewest idle, if a row consists of this many packets.
  int threads(int packets) const {
    const int all = slabs.strips * (slabs.segment / policy.rows) * packets, rounds = (all + kBlock - 1) / kBlock;
    return ((all + rounds - 1) / rounds + 31) / 32 * 32;
  }

  auto arrays() const { return std::tie(list); }
};

inline std::shared_ptr<ResidentWindows> windows_of(const Policy& policy, const Matrix& a, Op op, int item, int64 row) {
  const Layout& layout = a.layout();
  const std::string key = (op.transposed ? "windows T " : "windows N ") + std::to_string(policy.apart) + " " +
                          std::to_string(item) + " " + std::to_string(row);
  return cached<ResidentWindows>(layout.cache(), key.c_str(), [&] {
    const int64 rows = op.transposed ? a.cols : a.rows;
    return ResidentWindows::result(policy, row_sums(packed_spans_of(layout, op)).terms, rows, item, row);
  });
}

// The part of a row that a thread processes at once.
template <class V>
struct OfBlocks {
  using Packet = uint4;
  static constexpr Policy policy = kOfBlocks;
};
template <class V>
struct OfVectors {
  using Packet = Bits<V>;
  static constexpr Policy policy = kOfVectors;
};

constexpr unsigned kMostGroups = 8;  // of columns of X

// The blocks at the ends of the matrix, which are slow, have the lowest indices.
template <class Way, class U, class V>
__global__ void __launch_bounds__(kBlock, sizeof(V) <= 8 && !is_complex<U> ? 4 : 2)
    rows_in_windows(const __grid_constant__ Slabs slabs, const __grid_constant__ SharedLayout shared_layout,
                    const StagedItem* list, int staged, int per_strip, const Term* terms, int count, const U* values,
                    bool conj, const Block<const V> x, const Block<Product<U, V>> y, unsigned column_groups,
                    const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  using Packet = typename Way::Packet;
  constexpr int width = sizeof(Packet) / sizeof(V), item = sizeof(U), each = Way::policy.rows,
                apart = Way::policy.apart;
  constexpr bool one = apart > 1;  // a packet is a row
  constexpr int unroll = one ? 4 : 2;
  extern __shared__ __align__(kSector) char shared[];
  __shared__ Copies copies;
  StagedTerm* near = reinterpret_cast<StagedTerm*>(shared + shared_layout.terms);
  const unsigned number = blockIdx.x / column_groups, group = blockIdx.x % column_groups;
  const unsigned rotated = number + slabs.last, block = rotated < slabs.blocks ? rotated : rotated - slabs.blocks;
  const bool inside = block >= slabs.first && block < slabs.last;
  const int64 in_strip = static_cast<int64>(block % slabs.segments) * slabs.segment;
  const int64 start = block / slabs.segments * (slabs.strips * slabs.stride) + in_strip;
  const int64 first_column = one ? 0 : static_cast<int64>(group) * (shared_layout.row / static_cast<int>(sizeof(V)));
  const char* all_x = reinterpret_cast<const char*>(x.data + first_column);
  const auto x_row = [&] { return (one ? 1 : x.row) * static_cast<int64>(sizeof(V)); };  // bytes from row to row of X
  if (inside) {
    const int runs = per_strip * slabs.strips, own = across_warps();
    StagedItem b = list[min(own, staged - 1)];
    if (threadIdx.x == 0) copies.begin(blockDim.x);
    __syncthreads();
    const char *from_x = all_x + start * x_row(), *from_a = reinterpret_cast<const char*>(values + start);
    const int shift = since_border(from_x, kSector);
    const bool one_run = one || column_groups == 1;  // rows of X are next to each other
#pragma unroll 1
    for (int k = own; k < (one_run ? staged : runs); k += blockDim.x) {
      if (k != own) b = list[k];
      const bool run = k < runs;
      const int at = shift + b.at * shared_layout.row;
      const char* from = run ? from_a + b.from * item : from_x + b.from * x_row();
      const int to = run ? shared_layout.a + k * shared_layout.a_stride + since_border(from, kSector) : at;
      if (run) near[k] = {to, at, b.follows, b.conjugated};
      copies.start(shared + to, from, run ? slabs.segment * item : b.rows * shared_layout.row);
    }
    if (!one_run) {
#pragma unroll 1
      for (int k = runs; k < staged; ++k) {
        const StagedItem window = list[k];
        for (int r = threadIdx.x; r < window.rows; r += blockDim.x) {
          copies.start(shared + shift + (window.at + r) * shared_layout.row, from_x + (window.from + r) * x_row(),
                       shared_layout.row);
        }
      }
    }
    copies.started();
    copies.wait(0);
  }
  const auto a_row = [&] { return one ? static_cast<int>(sizeof(Packet)) : shared_layout.row; };  // bytes per row
  const int packets = a_row() / static_cast<int>(sizeof(Packet)), groups = slabs.segment / each;
#pragma unroll 1
  for (int e = threadIdx.x; e < slabs.strips * groups * packets; e += blockDim.x) {
    const int g = e / packets, strip = g / groups, of_strip = g % groups;
    const int in_segment = one ? of_strip / apart * (apart * each) + of_strip % apart : of_strip * each;
    const int column = static_cast<int>(sizeof(Packet)) * (e % packets);
    const int64 row = start + strip * slabs.stride + in_segment;
    const int64 own = min(slabs.stride - in_strip - in_segment, slabs.rows - row);
    if (own <= 0) continue;
    Packet of_x[each];
    T sums[each][width] = {};
    const auto add = [&](int p, bool conjugate, U value) {
      const auto factor = conjugate_if(conjugate, arithmetic(value));
      V columns[width];
      memcpy(columns, &of_x[p], sizeof columns);
#pragma unroll
      for (int c = 0; c < width; ++c) sums[p][c] += multiply(factor, columns[c]);
    };
    if (inside) {
      const StagedTerm* own_terms = near + strip * per_strip;
      const char *local_a = shared + in_segment * item, *local_x = shared + in_segment * a_row() + column;
#pragma unroll unroll
      for (int t = 0; t < per_strip; ++t) {
        const StagedTerm term = own_terms[t];
        const auto row_of_x = [&](int p) {
          return *reinterpret_cast<const Packet*>(local_x + term.x + p * (apart * a_row()));
        };
#pragma unroll
        for (int p = 0; p + 1 < each; ++p) of_x[p] = !one && term.follows ? of_x[p + 1] : row_of_x(p);
        of_x[each - 1] = row_of_x(each - 1);
        const Bits<U>* own_a = reinterpret_cast<const Bits<U>*>(local_a + term.a);
        const bool conjugate = is_complex<U> && conj != static_cast<bool>(term.conjugated);
#pragma unroll
        for (int p = 0; p < each; ++p) add(p, conjugate, from_bits<U>(own_a[p * apart]));
      }
    } else {
#pragma unroll unroll
      for (int t = 0; t < count; ++t) {
        const Term term = terms[t];
        const auto holds = [&](int p) { return row + p * apart >= term.first && row + p * apart < term.last; };
        U of_a[each];
#pragma unroll
        for (int p = 0; p < each; ++p) {
          if (!holds(p)) continue;
          of_a[p] = load(values + term.u + row + p * apart);
          of_x[p] = __ldg(reinterpret_cast<const Packet*>(all_x + (term.v + row + p * apart) * x_row() + column));
        }
#pragma unroll
        for (int p = 0; p < each; ++p) {
          if (holds(p)) add(p, is_complex<U> && conj != static_cast<bool>(term.conjugated), of_a[p]);
        }
      }
    }
#pragma unroll
    for (int p = 0; p < each; ++p) {
      if (p * apart >= own) continue;
      T* const to = y.data + (row + p * apart) * y.row + first_column + e % packets * width;
      matvec::update_packet(update, to, sums[p]);
    }
  }
}

// Returns whether the product has been computed.
template <class Way, class U, class V>
bool multiply_windows(const Matrix& a, Op op, const matvec::ResidentTerms& resident_data, const Dense& x,
                      const Dense& y, const Update<Product<U, V>>& update) {
  constexpr auto kernel = rows_in_windows<Way, U, V>;
  constexpr int packet = sizeof(typename Way::Packet);
  if (y.rows < Way::policy.matrix_rows || x.row_stride != x.cols) return false;
  const Limits& limits = cuda::limits<kernel>();
  if (!limits.bulk_copies) return false;
  const int64 all = x.cols * static_cast<int64>(sizeof(V));
  std::shared_ptr<ResidentWindows> windows;
  for (unsigned groups = 1; groups <= kMostGroups && all % (groups * packet) == 0; groups *= 2) {
    windows = windows_of(Way::policy, a, op, sizeof(U), all / groups);
    if (windows->worthwhile) break;
  }
  if (!windows->worthwhile || windows->shared_layout.total > limits.shared) return false;
  const auto groups = static_cast<unsigned>(all / windows->shared_layout.row);
  launch_shared("matvec row", kernel, dim3(windows->slabs.blocks * groups),
                dim3(static_cast<unsigned>(windows->threads(windows->shared_layout.row / packet))),
                windows->shared_layout.total, windows->slabs, windows->shared_layout,
                windows->list.as<const StagedItem>(), windows->staged, windows->terms, resident_data.terms_begin(),
                resident_data.count, a.values.as<U>(), op.conjugated, Block<const V>(x), Block<Product<U, V>>(y),
                groups, update);
  return true;
}

}  // namespace diagsparse::cuda::window
