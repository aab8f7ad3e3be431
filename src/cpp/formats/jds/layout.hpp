// jds: jagged diagonals. Rows are sorted by length, the longest first. Rows of the same length form a section, which is
// stored like ell but needs no padding.
//
//       matrix A (4 x 5)         row_order      = [ 1  2  3 |  0 ]
//     | 1  5  .  .  . |          section_rows   = [ 0          3  4 ]
//     | 9  2  6  .  . |          section_indptr = [ 0          9 11 ]
//     | . 10  3  7  . |
//     | .  . 11  4  8 |          indices = [ 0  1  2   1  2  3   2  3  4 |  0   1 ]
//                                values  = [ 9 10 11   2  3  4   6  7  8 |  1   5 ]
//
// Position p holds row row_order[p]. Section s consists of positions section_rows[s] to section_rows[s + 1]. Their
// entries are section_indptr[s] to section_indptr[s + 1]: first entry 0 of each row, then entry 1, and so on. The sort
// is stable. The positions after the last section are the empty rows.
// row_order: int32 (m); section_rows: int32 (sections + 1); section_indptr: int64 (sections + 1); indices: int32 (nnz;
// so n < 2^31), ascending in a row; values: T (nnz).
// Bytes: nnz (sizeof(T) + 4) + 4 m + 12 (sections + 1). There is one section for each nonzero row length that occurs.
// Saad, Krylov subspace methods on supercomputers, SIAM J. Sci. Stat. Comput. 10 (1989).
#pragma once

#include "layouts/rows.hpp"

namespace diagsparse {

extern const Format jds;

// Entry w of the row at position first + i is at entries + w rows + i.
struct Section {
  int64 first, rows, length, entries;
};

template <class T, class I = std::int32_t>
struct Jds {
  int64 rows, cols, sections, stored;
  const std::int32_t *indices, *row_order, *section_rows;
  const int64* section_indptr;
  const T* values;

  static Jds of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static Jds over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    return {structure.rows,
            structure.cols,
            arrays.at("section_rows").size() - 1,
            structure.stored(),
            arrays.at("indices").as<std::int32_t>(),
            arrays.at("row_order").as<std::int32_t>(),
            arrays.at("section_rows").as<std::int32_t>(),
            arrays.at("section_indptr").as<int64>(),
            values};
  }

  // Section number `sections` consists of the empty rows.
  constexpr Section section(int64 s) const {
    const int64 first = section_rows[s], entries = section_indptr[s];
    if (s == sections) return {first, rows - first, 0, entries};
    const int64 count = section_rows[s + 1] - first;
    return {first, count, (section_indptr[s + 1] - entries) / count, entries};
  }

  // Whether the boundaries of section s (pointers) or its row length (order) are invalid.
  constexpr Fault::Kind fault_in_section(int64 s) const {
    if (fault_in_boundary(s)) return Fault::pointers;
    if (s == sections || fault_in_boundary(s + 1)) return Fault::none;
    const Section current = section(s);
    if (current.length * current.rows != section_indptr[s + 1] - current.entries) return Fault::order;
    const bool descends = s == 0 || fault_in_boundary(s - 1) || current.length < section(s - 1).length;
    return descends ? Fault::none : Fault::order;
  }

  // The section of the row at position p.
  constexpr Section section_at(int64 p) const {
    int64 first = 0, last = sections;  // bisection without the standard library, so that GPU kernels can call it
    while (first < last) {
      const int64 middle = (first + last + 1) / 2;
      if (section_rows[middle] <= p) first = middle;
      else last = middle - 1;
    }
    return section(first);
  }
  // The interface that layouts/rows.hpp expects.
  static constexpr const std::int32_t* row_lengths = nullptr;
  static constexpr std::int32_t kLeastColumn = 0;
  constexpr int64 stored_rows() const { return rows; }
  constexpr StoredRow stored_row(int64 p) const {
    const Section s = section_at(p);
    const int64 begin = s.entries + p - s.first;
    return {row_order[p], begin, begin + s.length * s.rows, s.rows};
  }
  constexpr std::int32_t column(int64 e) const { return indices[e]; }
  constexpr bool follows(int64 p) const { return p == section_at(p).first || row_order[p - 1] < row_order[p]; }

 private:
  constexpr bool fault_in_boundary(int64 s) const {
    const int64 first = section_rows[s], entries = section_indptr[s];
    if (first < 0 || first > rows || entries < 0 || entries > stored) return true;
    if (s == sections && entries != stored) return true;
    return s == 0 ? first != 0 || entries != 0 : first <= section_rows[s - 1] || entries <= section_indptr[s - 1];
  }
};

// ---- Implemented by each backend -----------------------------------------------------------------------------
// pointers: the boundaries do not increase from 0 to the end; order: the row length of a section is not an integer, or
// not smaller than that of the previous section.
Fault fault_in_sections(const Jds<float>& a);

}  // namespace diagsparse
