// The diagonals of a matrix in the form that kernel "blocked" of a chain reads, by offset.
#pragma once

#include <map>
#include <tuple>

#include "core/recurrence.hpp"
#include "device/launch.cuh"

namespace diagsparse::cuda::chain {

// The diagonals that multiply v[i + offset] in row i: one, or two for disjoint rows if indices wrap around.
struct alignas(16) Partner {
  int64 offset = 0;
  int64 at[2] = {}, first[2] = {}, last[2] = {};  // for rows first <= i < last, the value of row i is at position at +
                                                  // i
  int count = 0;

  // Position of the value of this row, -1 if it is not stored.
  __device__ int64 position(int64 i) const {
    if (i >= first[0] && i < last[0]) return at[0] + i;
    return i >= first[1] && i < last[1] ? at[1] + i : -1;
  }
  __device__ bool holds(int64 begin, int64 end, int64 n) const {
    if (last[0] - first[0] + (last[1] - first[1]) == n) return true;
    return (begin >= first[0] && end <= last[0]) || (begin >= first[1] && end <= last[1]);
  }
};

// What a matrix caches for its chains.
struct ResidentPartners {
  Array partners;
  int64 count, below, above;
  bool around;

  explicit ResidentPartners(const Neighbours& near) : below(near.below), above(near.above), around(near.around) {
    std::map<int64, Partner> by_offset;
    for (const Term& t : near.terms) {
      Partner& partner = by_offset[t.v];
      partner.offset = t.v;
      partner.at[partner.count] = t.u;
      partner.first[partner.count] = t.first;
      partner.last[partner.count++] = t.last;
    }
    std::vector<Partner> all;
    for (const auto& [offset, partner] : by_offset) all.push_back(partner);
    count = static_cast<int64>(all.size());
    partners = upload(all);
  }
  const Partner* begin() const { return partners.as<const Partner>(); }
  auto arrays() const { return std::tie(partners); }
};

}  // namespace diagsparse::cuda::chain
