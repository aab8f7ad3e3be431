// Symmetries by sums of hashes, on the CPU.
#include "cpu/mirror_sums.hpp"

#include <atomic>

#include "core/hash.hpp"
#include "core/symmetry.hpp"
#include "cpu/csr_rows.hpp"

namespace diagsparse {

namespace {

constexpr int64 kAsked = 64;  // entries whose mirror images are looked up first
constexpr unsigned kHalves = kSymmetric | kHermitian;

template <class T>
bool is_mirrored(const Csr<T>& a, int64 e) {
  if (is_zero(a.values[e])) return true;
  const int64 i = std::upper_bound(a.indptr, a.indptr + a.rows + 1, e) - a.indptr - 1, j = a.indices[e];
  const std::int32_t* const last = a.indices + a.indptr[j + 1];
  const std::int32_t* const found = std::lower_bound(a.indices + a.indptr[j], last, i);
  if (found == last || *found != i) return false;
  return (symmetries_broken_by(a.values[e], a.values[found - a.indices]) & kHalves) != kHalves;
}

// Whether some entries here and there are: most matrices that are not symmetric are told by the first ones. Those at
// equal distances could all lie on one diagonal.
template <class T>
bool few_are_mirrored(const Csr<T>& a) {
  const int64 entries = a.indptr[a.rows], asked = std::min(kAsked, entries);
  for (int64 k = 0; k < asked; ++k) {
    if (!is_mirrored(a, static_cast<int64>((k * kSpread) % static_cast<std::uint64_t>(entries)))) return false;
  }
  return true;
}

}  // namespace

unsigned seeming_symmetries(const Matrix& csr) {
  if (csr.rows != csr.cols) return 0;
  if (!with_value_type(csr.dtype, [&](auto zero) { return few_are_mirrored(Csr<decltype(zero)>::of(csr)); })) return 0;
  const AddMirrors add = ForEachSet<AddMirrors>::best();
  std::vector<MirrorSums> sums(shares_for(csr.rows));
  std::atomic<bool> broken = false;
  for_rows(structure_of(csr), sums.size(), 1, [&](int64 share, int64 first, int64 last) {
    if (broken) return;
    const MirrorSums mine = add(csr, first, last);
    if (mine.no_number > 0) broken = true;
    sums[share] += mine;
  });
  MirrorSums found;
  for (const MirrorSums& one : sums) found += one;
  if (broken || found.real != 0) return 0;
  const bool hermitian = found.opposite == 0 && found.on_diagonal == 0;
  return (found.alike == 0 ? kSymmetric : 0) | (hermitian ? kHermitian : 0);
}

}  // namespace diagsparse
