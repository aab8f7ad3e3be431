// y = alpha op(A) x + beta y for layouts of A with a period: kernel "row" for such matrices.
//
//   op(A): m x n, D diagonals of which `period` values are stored: in row i a term has values[u + (shift + i) %
//   period], which multiplies x[v + i], for first <= i < last.  x: n, or n x k.  y: m, or m x k.  Bytes at least: x +
//   y.
//
// The kernels read one period of each diagonal of A, which stays in the caches; constant diagonals (period 1) are one
// number each, in shared memory. So nearly all memory traffic is x and y. A thread processes a few rows. The terms of a
// sum are added in the order of the list, so every run gives the same bits.
#include "device/dense.cuh"
#include "device/device_array.hpp"
#include "device/values.cuh"
#include "kernels/matvec/blocks.cuh"
#include "kernels/matvec/packets.cuh"
#include "kernels/matvec/terms.cuh"
#include "kernels/period/matvec.hpp"

namespace diagsparse::cuda::period {

namespace {

using namespace matvec;

// The position of row i in its period, and the position of the value of a diagonal with this shift in such a row.
struct Period {
  std::uint32_t rows;

  struct Row {
    const Period& period;
    std::uint32_t in_period;

    __device__ int64 value(const Term& term) const { return term.u + period.value(term.shift, in_period); }
  };

  __device__ Row row(int64 i) const { return {*this, in_period(i)}; }
  __device__ std::uint32_t in_period(int64 i) const { return static_cast<std::uint32_t>(i % rows); }
  __device__ std::uint32_t value(std::uint32_t shift, std::uint32_t in_period) const {
    const std::uint32_t at = in_period + shift;
    return at >= rows ? at - rows : at;
  }
};

// A thread processes Rows rows, 32 apart, and At diagonals at a time.
template <int Rows, int At, class U, class V>
__global__ void __launch_bounds__(kBlock, 3)
    period_rows(const Term* terms, int count, const __grid_constant__ Interior interior, const U* values,
                const Period period, bool conj, const V* x, Product<U, V>* y, int64 rows,
                const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  __shared__ CommonTerm near[kTerms + At];
  __shared__ std::uint32_t shifts[kTerms + At];
  const int64 start = static_cast<int64>(blockIdx.x) * (kBlock * Rows), stop = start + kBlock * Rows;
  const int64 i = start + threadIdx.x / 32 * (32 * Rows) + threadIdx.x % 32;
  const bool inside = start >= interior.first && stop <= interior.last;
  std::uint32_t in_period[Rows] = {period.in_period(i)};
#pragma unroll
  for (int r = 1; r < Rows; ++r) in_period[r] = period.value(32 % period.rows, in_period[r - 1]);
  T sums[Rows] = {};
  const auto add_terms = [&](int end, auto holds) {
    for (int t = 0; t < end; t += At) {
      U u[At][Rows];
      V v[At][Rows];
#pragma unroll
      for (int k = 0; k < At; ++k) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          if (t + k < end && holds(near[t + k], i + 32 * r)) {
            u[k][r] = load(values + near[t + k].u + period.value(shifts[t + k], in_period[r]));
            v[k][r] = load(x + near[t + k].v + i + 32 * r);
          }
        }
      }
#pragma unroll
      for (int k = 0; k < At; ++k) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          if (t + k < end && holds(near[t + k], i + 32 * r)) {
            sums[r] +=
                multiply(conjugate_if(is_complex<U> && conj != near[t + k].conjugated, arithmetic(u[k][r])), v[k][r]);
          }
        }
      }
    }
  };
  const int begin = inside ? interior.term : 0, end = inside ? interior.term_end : count;
  for (int t = begin; t < end; t += kTerms) {
    const int some = min(end - t, kTerms);
    __syncthreads();
    for (int k = threadIdx.x; k < some; k += kBlock) {
      near[k] = shared_term(terms[t + k]);
      shifts[k] = terms[t + k].shift;
    }
    __syncthreads();
    if (inside) add_terms(some, [](const CommonTerm&, int64) { return true; });
    else add_terms(some, [](const CommonTerm& term, int64 row) { return term.holds(row); });
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (i + 32 * r < rows) update.one(y + i + 32 * r, sums[r]);
  }
}

// Neighbouring diagonals: terms [term, term + length) of the list, with offsets v, v + 1, ...
struct Sequence {
  int64 v;
  int term, length;
};

// Constant diagonals. A thread processes as many neighbouring rows as there are values of x in 16 bytes, and reads each
// of these packets once for all diagonals of a sequence. A block processes every gridDim.x-th tile of rows. In tiles at
// the ends of the diagonals, the diagonals are processed one by one.
constexpr int kConstantBlocks = 4;  // blocks per multiprocessor
constexpr int kGroups = 2;          // groups of neighbouring rows per thread

template <class U, class V>
__global__ void __launch_bounds__(kBlock, sizeof(V) <= 8 ? kConstantBlocks : 1)
    constant_rows(const Term* terms, int count, const Sequence* sequences, int sequence_count,
                  const __grid_constant__ Interior interior, const U* values, bool conj, const V* x, Product<U, V>* y,
                  int64 rows, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  using A = decltype(arithmetic(U{}));
  constexpr int width = 16 / static_cast<int>(sizeof(V)), ahead = 2, groups = kGroups,
                rows_per_tile = kBlock * width * groups;
  __shared__ Bits<A> constants[kTerms];
  __shared__ Sequence near[kTerms];
  for (int k = threadIdx.x; k < interior.term_end - interior.term; k += kBlock) {
    const Term& term = terms[interior.term + k];
    constants[k] = to_bits(conjugate_if(conj != term.conjugated, arithmetic(load(values + term.u))));
  }
  for (int k = threadIdx.x; k < sequence_count; k += kBlock) near[k] = sequences[k];
  __syncthreads();
  const int misalignment = static_cast<int>(reinterpret_cast<std::uintptr_t>(x) / sizeof(V) % width);
  for (int64 start = static_cast<int64>(blockIdx.x) * rows_per_tile; start < rows;
       start += static_cast<int64>(gridDim.x) * rows_per_tile) {
    const int64 i = start + static_cast<int64>(threadIdx.x) * width;
    T sums[groups][width] = {};
    if (start - width >= interior.first && start + rows_per_tile + (ahead + 1) * width <= interior.last) {
      for (int n = 0; n < sequence_count; ++n) {
        const Sequence sequence = near[n];
        const int before = static_cast<int>((sequence.v % width + width + misalignment) % width);
        const auto* from = reinterpret_cast<const uint4*>(x + i + sequence.v - before);
        const Bits<A>* factors = constants + sequence.term - interior.term;
        uint4 packets[groups][ahead + 1];
#pragma unroll
        for (int g = 0; g < groups; ++g) packets[g][ahead] = __ldg(from + g * kBlock);
        for (int d = -before; d < sequence.length; d += ahead * width) {
#pragma unroll
          for (int g = 0; g < groups; ++g) {
            packets[g][0] = packets[g][ahead];
#pragma unroll
            for (int q = 1; q <= ahead; ++q) packets[g][q] = __ldg(from + g * kBlock + q);  // perhaps past the sequence
          }
          from += ahead;
          const std::uint32_t live =
              (~0u << max(-d, 0)) & ~(sequence.length - d < ahead * width ? ~0u << (sequence.length - d) : 0u);
          V of_x[groups][(ahead + 1) * width];
          memcpy(of_x, packets, sizeof of_x);
#pragma unroll
          for (int k = 0; k < ahead * width; ++k) {
            if (!(live >> k & 1)) continue;
            const A factor = from_bits<A>(factors[d + k]);
#pragma unroll
            for (int g = 0; g < groups; ++g) {
#pragma unroll
              for (int r = 0; r < width; ++r) sums[g][r] += multiply(factor, of_x[g][k + r]);
            }
          }
        }
      }
    } else {
      for (int t = 0; t < count; ++t) {
        const Term term = terms[t];
        const A factor = conjugate_if(conj != term.conjugated, arithmetic(load(values + term.u)));
#pragma unroll
        for (int g = 0; g < groups; ++g) {
          for (int r = 0; r < width; ++r) {
            const int64 row = i + g * kBlock * width + r;
            if (row >= term.first && row < term.last) sums[g][r] += multiply(factor, load(x + term.v + row));
          }
        }
      }
    }
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      const int64 row = i + g * kBlock * width;
      if (row + width <= rows) {
        update_packet(update, y + row, sums[g]);
      } else {
        for (int r = 0; r < width; ++r) {
          if (row + r < rows) update.one(y + row + r, sums[g][r]);
        }
      }
    }
  }
}

// What a matrix of constant diagonals caches in addition to its list: the sequences among the terms of the interior.
struct ResidentSequences {
  Array sequences;
  int count = 0;

  explicit ResidentSequences(const std::vector<Sequence>& found)
      : sequences(upload(found)), count(static_cast<int>(found.size())) {}

  auto arrays() const { return std::tie(sequences); }
};

std::shared_ptr<ResidentSequences> sequences_of(const Matrix& a, Op op, const Interior& interior) {
  return cached<ResidentSequences>(a.layout().cache(), op.transposed ? "sequences T" : "sequences N", [&] {
    const std::vector<Span> spans = packed_spans_of(a.layout(), op);
    std::vector<Sequence> sequences;
    for (int t = interior.term; t < interior.term_end; ++t) {
      if (!sequences.empty() && sequences.back().v + sequences.back().length == spans[t].offset)
        ++sequences.back().length;
      else sequences.push_back({spans[t].offset, t, 1});
    }
    return std::make_shared<ResidentSequences>(sequences);
  });
}

template <class U, class V>
struct Matvec {
  using T = Product<U, V>;

  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto resident_data = resident_terms(a, op);
    const Interior& interior = resident_data->interior;
    const Update<T> update(alpha, beta);
    const U* values = a.values.as<U>();
    const Period period{static_cast<std::uint32_t>(a.layout().packing.period)};
    const auto grid = [&](int64 rows) { return dim3(static_cast<unsigned>(ceil_div(y.rows, rows))); };
    const bool vector = x.cols == 1 && x.row_stride == 1 && y.row_stride == 1;
    if (vector && period.rows == 1 && interior.term_end - interior.term <= kTerms) {
      const auto sequences = sequences_of(a, op, interior);
      const int64 tiles = ceil_div(y.rows, kBlock * kGroups * 16 / static_cast<int64>(sizeof(V)));
      const int64 at_once = kConstantBlocks * limits<constant_rows<U, V>>().multiprocessors;
      launch("matvec row", constant_rows<U, V>, dim3(static_cast<unsigned>(std::min(tiles, at_once))), dim3(kBlock),
             resident_data->terms_begin(), resident_data->count, sequences->sequences.template as<const Sequence>(),
             sequences->count, interior, values, op.conjugated, x.as<V>(), y.as<T>(), y.rows, update);
    } else if (vector) {
      constexpr int each = 4, at_once = 2;
      launch("matvec row", period_rows<each, at_once, U, V>, grid(kBlock * each), dim3(kBlock),
             resident_data->terms_begin(), resident_data->count, interior, values, period, op.conjugated, x.as<V>(),
             y.as<T>(), y.rows, update);
    } else {
      multiply_block<U, V>(*resident_data, period, values, op.conjugated, x, y, matvec::NoRest(), update);
    }
  }
};

}  // namespace

void matvec(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  static const Typed<MatvecKernel> typed = every_pair<Matvec, MatvecKernel>();
  if (a.dtype != DType::f16 && a.dtype != DType::bf16) return typed(a.dtype, x.dtype)(a, op, alpha, x, beta, y);
  // Values of 16 bits, few because of the period, are widened first: the products are the same.
  const Array values = Array::empty(DType::f32, a.values.shape);
  assign(DeviceArray::of(a.values), DeviceArray::of(values));
  matvec(Matrix(a.structure, values), op, alpha, x, beta, y);
}

}  // namespace diagsparse::cuda::period
