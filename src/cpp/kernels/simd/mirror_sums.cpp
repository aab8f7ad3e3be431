// Sums of hashes that detect the symmetry of a matrix.
#include "cpu/mirror_sums.hpp"

#include <bit>

#include "core/compressed_rows.hpp"
#include "core/hash.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

constexpr int64 kBatch = 1024;  // entries whose rows are expanded first, so that the rest is a single loop

constexpr std::uint64_t kLow = kSpread, kHigh = 0xD1B54A32D192ED03u;  // for the smaller and the larger index

inline std::uint64_t bits_of(float v) { return std::bit_cast<std::uint32_t>(v); }
inline std::uint64_t bits_of(double v) { return std::bit_cast<std::uint64_t>(v); }

inline std::uint64_t all_if(bool yes) { return yes ? ~std::uint64_t{0} : 0; }

template <class T>
MirrorSums sums_of(const std::uint32_t* rows, const std::int32_t* columns, const T* values, int64 count) {
  std::uint64_t real = 0, same_sign = 0, opposite = 0, nans = 0, on_diagonal = 0;
  for (int64 e = 0; e < count; ++e) {
    const std::uint32_t i = rows[e], j = static_cast<std::uint32_t>(columns[e]);
    const std::uint64_t low = std::min(i, j), high = std::max(i, j), position = low * kLow + high * kHigh;
    const std::uint64_t off_diagonal = all_if(i != j),
                        down = all_if(i > j);  // (h ^ down) - down: h, or -h below
    const auto signed_hash = [=](std::uint64_t hash) { return ((hash ^ down) - down) & off_diagonal; };
    if constexpr (is_complex<T>) {
      const auto re = values[e].re, im = values[e].im;
      const std::uint64_t negative = all_if(im < 0);
      const std::uint64_t hash = mixed(~position ^ bits_of(im < 0 ? -im : im)) & all_if(im != 0);
      const std::uint64_t with_sign = (hash ^ negative) - negative;
      real += signed_hash(mixed(position ^ bits_of(re)) & all_if(re != 0));
      same_sign += signed_hash(with_sign);
      opposite += with_sign & off_diagonal;
      nans -= all_if(re != re) | all_if(im != im);
      on_diagonal -= all_if(im != 0) & ~off_diagonal;
    } else {
      real += signed_hash(mixed(position ^ bits_of(values[e])) & all_if(values[e] != 0));
      nans -= all_if(values[e] != values[e]);
    }
  }
  return {real, same_sign, opposite, nans, on_diagonal};
}

template <class T>
MirrorSums add(const Csr<T>& a, int64 first, int64 last) {
  MirrorSums all;
  std::uint32_t rows[kBatch];
  int64 row = first;
  for (int64 begin = a.indptr[first], end; begin < a.indptr[last]; begin = end) {
    end = std::min(a.indptr[last], begin + kBatch);
    for (int64 e = begin; e < end; ++row) {
      const int64 stop = std::min(end, a.indptr[row + 1]);
      for (; e < stop; ++e) rows[e - begin] = static_cast<std::uint32_t>(row);
      if (a.indptr[row + 1] > end) break;
    }
    all += sums_of(rows, a.indices + begin, a.values + begin, end - begin);
  }
  return all;
}

MirrorSums add_rows(const Matrix& csr, int64 first, int64 last) {
  return with_value_type(csr.dtype, [&](auto zero) { return add(Csr<decltype(zero)>::of(csr), first, last); });
}

const ForEachSet<AddMirrors> registered(kIsa, add_rows);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
