"""Attributes that only some formats have, for type checkers, which do not know the format of a matrix."""

from __future__ import annotations

from typing import Any


class SomeFormats:
    """Attributes of some matrix classes, and the conversions that each class adds when it is defined."""

    bands: Any
    bases: Any
    bitmap: Any
    block: Any
    block_col: Any
    block_indptr: Any
    blocks: Any
    codes: Any
    col: Any
    column_bits: Any
    coo: Any
    coo_col: Any
    coo_row: Any
    coords: Any
    coosr_col: Any
    coosr_indptr: Any
    coosr_row: Any
    csr_bases: Any
    csr_indices: Any
    csr_indptr: Any
    data: Any
    dia_offsets: Any
    ell: Any
    ell_bases: Any
    ell_indices: Any
    fill: Any
    has_canonical_format: Any
    has_sorted_indices: Any
    indices: Any
    indptr: Any
    local_col: Any
    local_row: Any
    mask: Any
    mean_fill: Any
    mirrored: Any
    offsets: Any
    palette: Any
    period: Any
    rest: Any
    row: Any
    row_lengths: Any
    row_order: Any
    rows: Any
    section_indptr: Any
    section_rows: Any
    sections: Any
    slice_height: Any
    slice_indptr: Any
    symmetry: Any
    table_indptr: Any
    value_indptr: Any
    width: Any

    check_format: Any
    report: Any
    sort_indices: Any
    sorted_indices: Any
    sum_duplicates: Any

    tobmsparse: Any
    tocdm: Any
    tocoo: Any
    tocoosc: Any
    tocoosr: Any
    tocsb: Any
    tocsc: Any
    tocsr: Any
    todia: Any
    toell: Any
    toellcsr: Any
    tohm: Any
    tohyb: Any
    tojds: Any
    tomdia: Any
    toqband: Any
    tosell: Any
