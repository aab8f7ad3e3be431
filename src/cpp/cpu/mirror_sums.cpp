// Symmetry detection by sums of hashes, on the CPU.
#include "cpu/mirror_sums.hpp"

#include <atomic>

#include "core/hash.hpp"
#include "core/symmetry.hpp"
#include "cpu/csr_rows.hpp"

namespace diagsparse {

namespace {

constexpr int64 kSampled = 64;  // entries whose mirror images are looked up first
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

// Checks the mirror images of a sample of entries, which rejects most matrices that are not symmetric. The sample is
// pseudo-random, because entries at equal distances might all be on one diagonal.
template <class T>
bool sample_is_mirrored(const Csr<T>& a) {
  const int64 entries = a.indptr[a.rows], sampled = std::min(kSampled, entries);
  for (int64 k = 0; k < sampled; ++k) {
    if (!is_mirrored(a, static_cast<int64>((k * kSpread) % static_cast<std::uint64_t>(entries)))) return false;
  }
  return true;
}

}  // namespace

unsigned seeming_symmetries(const Matrix& csr) {
  if (csr.rows != csr.cols) return 0;
  if (!with_value_type(csr.dtype, [&]<class T>(T) { return sample_is_mirrored(Csr<T>::of(csr)); })) return 0;
  const AddMirrors add = ForEachSet<AddMirrors>::best();
  std::vector<MirrorSums> sums(workers_for(csr.rows));
  std::atomic<bool> broken = false;
  for_rows(structure_of(csr), sums.size(), 1, [&](int64 worker, int64 first, int64 last) {
    if (broken) return;
    const MirrorSums partial = add(csr, first, last);
    if (partial.nans > 0) broken = true;
    sums[worker] += partial;
  });
  MirrorSums found;
  for (const MirrorSums& one : sums) found += one;
  if (broken || found.real != 0) return 0;
  const bool hermitian = found.opposite == 0 && found.on_diagonal == 0;
  return (found.same_sign == 0 ? kSymmetric : 0) | (hermitian ? kHermitian : 0);
}

}  // namespace diagsparse
