// Y = A X, where a thread block first copies everything that its rows need into shared memory. Kernel "row" runs it for
// large matrices if X is contiguous, the data of enough rows fits into shared memory, and
//   - X is a block of columns whose rows consist of packets of 16 bytes, or
//   - X is a vector, and the stored values of A are narrower than those of X.
//
//   op(A): m x n, as in diagonals/row.cu.  X: n x k, rows one after the other.  Y: m x k.  The terms of a sum are added
//   in the order of the list, so every run gives the same bits.
//
// A segment of each diagonal is copied by a bulk copy (see fetch.cuh), and each row of X once. A few strips, which are
// neighbouring lines of a stencil's grid, together need fewer rows of X:
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
#include "kernels/matvec/pieces.cuh"
#include "kernels/matvec/terms.cuh"
#include "kernels/window/slabs.hpp"

namespace diagsparse::cuda::window {

// What products cache with a matrix, for rows of X of this size in bytes.
struct ResidentWindows {
  Share share;
  Slabs slabs;
  Room room;
  int terms, brought;
  Array list;
  bool pay = false;

  static std::shared_ptr<ResidentWindows> result(const Share& share, const std::vector<Term>& terms, int64 rows,
                                                 int item, int64 row) {
    const matvec::Interior interior(terms, rows);
    const Term *begin = terms.data() + interior.term, *end = terms.data() + interior.term_end;
    const Choice choice = choose(share, begin, end, interior.first, interior.last, rows, item, row);
    const int bytes = choice.pay ? static_cast<int>(row) : 16;
    const BroughtList list(begin, choice.pay ? end : begin, choice.slabs, bytes);
    return std::make_shared<ResidentWindows>(share, choice, list, Room(choice.slabs, list, item, bytes));
  }

  ResidentWindows(const Share& share, const Choice& choice, const BroughtList& list, const Room& room)
      : share(share),
        slabs(choice.slabs),
        room(room),
        terms(list.runs / slabs.strips),
        brought(static_cast<int>(list.items.size())),
        list(upload(list.items)),
        pay(choice.pay) {}

  // The number of threads that leaves the fewest idle, if a row consists of this many packets.
  int threads(int pieces) const {
    const int all = slabs.strips * (slabs.stretch / share.rows) * pieces, rounds = (all + kBlock - 1) / kBlock;
    return ((all + rounds - 1) / rounds + 31) / 32 * 32;
  }

  template <class F>
  void visit(const F& f) const {
    f(list);
  }
};

inline std::shared_ptr<ResidentWindows> windows_of(const Share& share, const Matrix& a, Op op, int item, int64 row) {
  const Layout& layout = a.layout();
  const std::string key = (op.transposed ? "windows T " : "windows N ") + std::to_string(share.apart) + " " +
                          std::to_string(item) + " " + std::to_string(row);
  return cached<ResidentWindows>(layout.cache(), key.c_str(), [&] {
    const int64 rows = op.transposed ? a.cols : a.rows;
    return ResidentWindows::result(share, row_sums(packed_spans_of(layout, op)).terms, rows, item, row);
  });
}

// The part of a row that a thread processes at once.
template <class V>
struct OfBlocks {
  using Piece = uint4;
  static constexpr Share share = kOfBlocks;
};
template <class V>
struct OfVectors {
  using Piece = Bits<V>;
  static constexpr Share share = kOfVectors;
};

// The blocks at the ends of the matrix, which are slow, have the lowest indices.
template <class Way, class U, class V>
__global__ void __launch_bounds__(kBlock, sizeof(V) <= 8 && !is_complex<U> ? 4 : 2)
    rows_in_windows(const __grid_constant__ Slabs slabs, const __grid_constant__ Room room, const Brought* list,
                    int brought, int per_strip, const Term* terms, int count, const U* values, bool conj, const V* x,
                    const Block<Product<U, V>> y, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  using Piece = typename Way::Piece;
  constexpr int width = sizeof(Piece) / sizeof(V), item = sizeof(U), each = Way::share.rows, apart = Way::share.apart;
  constexpr bool one = apart > 1;  // a packet is a row
  constexpr int unroll = one ? 4 : 2;
  extern __shared__ __align__(kSector) char shared[];
  __shared__ Copies copies;
  BroughtTerm* near = reinterpret_cast<BroughtTerm*>(shared + room.terms);
  const unsigned turned = blockIdx.x + slabs.last, block = turned < slabs.blocks ? turned : turned - slabs.blocks;
  const bool inside = block >= slabs.first && block < slabs.last;
  const int64 in_strip = static_cast<int64>(block % slabs.stretches) * slabs.stretch;
  const int64 start = block / slabs.stretches * (slabs.strips * slabs.stride) + in_strip;
  const char* all_x = reinterpret_cast<const char*>(x);
  if (inside) {
    const int runs = per_strip * slabs.strips, own = across_warps();
    Brought b = list[min(own, brought - 1)];
    if (threadIdx.x == 0) copies.begin(blockDim.x);
    __syncthreads();
    const char *from_x = all_x + start * room.row, *from_a = reinterpret_cast<const char*>(values + start);
    const int shift = since_border(from_x, kSector);
#pragma unroll 1
    for (int k = own; k < brought; k += blockDim.x) {
      if (k != own) b = list[k];
      const bool run = k < runs;
      const int at = shift + b.at * room.row;
      const char* from = run ? from_a + b.from * item : from_x + b.from * room.row;
      const int to = run ? room.a + k * room.a_stride + since_border(from, kSector) : at;
      if (run) near[k] = {to, at, b.follows, b.conjugated};
      copies.start(shared + to, from, run ? slabs.stretch * item : b.rows * room.row);
    }
    copies.started();
    copies.wait(0);
  }
  const auto a_row = [&] { return one ? static_cast<int>(sizeof(Piece)) : room.row; };  // bytes
  const int pieces = a_row() / static_cast<int>(sizeof(Piece)), groups = slabs.stretch / each;
#pragma unroll 1
  for (int e = threadIdx.x; e < slabs.strips * groups * pieces; e += blockDim.x) {
    const int g = e / pieces, strip = g / groups, of_strip = g % groups;
    const int in_stretch = one ? of_strip / apart * (apart * each) + of_strip % apart : of_strip * each;
    const int column = static_cast<int>(sizeof(Piece)) * (e % pieces);
    const int64 row = start + strip * slabs.stride + in_stretch;
    const int64 own = min(slabs.stride - in_strip - in_stretch, slabs.rows - row);
    if (own <= 0) continue;
    Piece of_x[each];
    T sums[each][width] = {};
    const auto add = [&](int p, bool turned, U value) {
      const auto factor = conjugate_if(turned, arithmetic(value));
      V columns[width];
      memcpy(columns, &of_x[p], sizeof columns);
#pragma unroll
      for (int c = 0; c < width; ++c) sums[p][c] += multiply(factor, columns[c]);
    };
    if (inside) {
      const BroughtTerm* own_terms = near + strip * per_strip;
      const char *local_a = shared + in_stretch * item, *local_x = shared + in_stretch * a_row() + column;
#pragma unroll unroll
      for (int t = 0; t < per_strip; ++t) {
        const BroughtTerm term = own_terms[t];
        const auto row_of_x = [&](int p) {
          return *reinterpret_cast<const Piece*>(local_x + term.x + p * (apart * a_row()));
        };
#pragma unroll
        for (int p = 0; p + 1 < each; ++p) of_x[p] = !one && term.follows ? of_x[p + 1] : row_of_x(p);
        of_x[each - 1] = row_of_x(each - 1);
        const Bits<U>* own_a = reinterpret_cast<const Bits<U>*>(local_a + term.a);
        const bool turned = is_complex<U> && conj != static_cast<bool>(term.conjugated);
#pragma unroll
        for (int p = 0; p < each; ++p) add(p, turned, from_bits<U>(own_a[p * apart]));
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
          of_x[p] = __ldg(reinterpret_cast<const Piece*>(all_x + (term.v + row + p * apart) * a_row() + column));
        }
#pragma unroll
        for (int p = 0; p < each; ++p) {
          if (holds(p)) add(p, is_complex<U> && conj != static_cast<bool>(term.conjugated), of_a[p]);
        }
      }
    }
#pragma unroll
    for (int p = 0; p < each; ++p) {
      if (p * apart < own)
        matvec::update_piece(update, y.data + (row + p * apart) * y.row + e % pieces * width, sums[p]);
    }
  }
}

// Returns whether the product has been computed.
template <class Way, class U, class V>
bool multiply_windows(const Matrix& a, Op op, const matvec::ResidentTerms& kept, const Dense& x, const Dense& y,
                      const Update<Product<U, V>>& update) {
  constexpr auto kernel = rows_in_windows<Way, U, V>;
  constexpr int piece = sizeof(typename Way::Piece);
  if (y.rows < Way::share.matrix_rows || x.row_stride != x.cols) return false;
  const Limits& limits = cuda::limits<kernel>();
  if (!limits.bulk_copies) return false;
  const std::shared_ptr<ResidentWindows> windows =
      windows_of(Way::share, a, op, sizeof(U), x.cols * static_cast<int64>(sizeof(V)));
  if (!windows->pay || windows->room.total > limits.shared) return false;
  launch_shared("matvec row", kernel, dim3(windows->slabs.blocks),
                dim3(static_cast<unsigned>(windows->threads(windows->room.row / piece))), windows->room.total,
                windows->slabs, windows->room, windows->list.as<const Brought>(), windows->brought, windows->terms,
                kept.terms_begin(), kept.count, a.values.as<U>(), op.conjugated, x.as<V>(), Block<Product<U, V>>(y),
                update);
  return true;
}

}  // namespace diagsparse::cuda::window
