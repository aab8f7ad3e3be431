"""The validation of row formats: the message states the position of the error."""

import numpy as np
import pytest
from cases import make, raises
from pickled import refuse_state, state_of, unpickled
from processes import python

import diagsparse as ds


def test_arrays_that_belong_to_no_part():
    A = ds.hyb_array(ds.gallery.arrow(6))
    parts = A.parts()
    arrays = [(name, parts[name]) for name in ("ell_indices", "coo_row", "coo_col")]
    with raises(ValueError, "hyb_array", "diagonal", "belong to none"):
        A._core.indexed_matrix("hyb", 6, 6, parts["values"], [*arrays, ("diagonal", np.zeros(6, np.int32))])


def test_rows_of_ellcsr_ascend_through_both_parts():
    def build(*, values=(1.0, 2, 5, np.nan, 3, 4), head=((0, 2), (1, -1)), rest=(4, 3), pointers=(0, 1, 2)):
        return ds.ellcsr_array((np.array(values), np.array(head), np.array(rest), np.array(pointers)), shape=(2, 5))

    assert np.array_equal(build().toarray(), [[1, 0, 2, 0, 3], [0, 5, 0, 4, 0]])
    for bad, words in (
        ({"head": ((0, 2), (-1, 1))}, ("ell_indices[1, 1]", "does not come after", "padding comes last")),
        ({"head": ((2, 0), (1, -1))}, ("ell_indices[0, 1]", "does not come after")),
        ({"head": ((0, 5), (1, -1))}, ("ell_indices[0, 1]", "lies outside", "0 to 4")),
        ({"rest": (2, 3)}, ("csr_indices[0]", "does not come after")),
        ({"rest": (4, 1)}, ("csr_indices[1]", "does not come after")),
        ({"rest": (4, 5)}, ("ellcsr_array: csr_indices[1] is 5, expected 0 to 4",)),
        ({"pointers": (0, 2, 2)}, ("csr_indices do not rise",)),
        ({"pointers": (0, 3, 2)}, ("ellcsr_array: csr_indptr[2] is 2; expected", "0 to 2")),
        ({"values": (1.0, 2, 5, 3, 4)}, ("values hold 5", "6")),
    ):
        with raises(ValueError, "ellcsr_array", *words):
            build(**bad)


@pytest.mark.parametrize(("format", "within"), [("coosr", "col"), ("coosc", "row")])
def test_parts_go_by_their_names(format, within):
    good = make(format, np.eye(3)).parts()
    outside = f"{within}[1] is 7, expected 0 to 2"
    for name, damaged, words in (("indptr", [0, 1, 5, 3], "indptr[3] is 3; expected"), (within, [0, 7, 2], outside)):
        values, *parts = (good | {name: np.array(damaged)}).values()
        with raises(ValueError, f"{format}_array: {words}"):
            make(format, (values, *parts), shape=(3, 3))


@pytest.mark.parametrize("format", ["ell", "hyb", "ellcsr"])
def test_a_width_that_no_memory_bounds(format):
    """Of a matrix without rows the index array may have any number of rows: nothing is counted up to it."""
    empty, none = np.zeros((2**40, 0), np.int32), np.zeros(0, np.int32)
    if format == "ell":
        A = ds.ell_array((np.zeros((2**40, 0)), empty), shape=(0, 7))
    elif format == "ellcsr":
        A = ds.ellcsr_array((np.zeros(0), empty.T, none, np.zeros(1, np.int64)), shape=(0, 7))
    else:
        A = ds.hyb_array((np.zeros(0), empty, none, none), shape=(0, 7))
    assert A.nnz == A.count_nonzero() == 0 and (A @ np.ones(7)).shape == (0,) and A.toarray().shape == (0, 7)
    assert A.tocsr().nnz == A.T.tocsr().nnz == (A + A).nnz == 0 and A.sum() == 0
    assert np.array_equal(A.T @ none.astype(float), np.zeros(7)) and A.copy().asformat("hm").shape == (0, 7)


@pytest.mark.parametrize(
    ("name", "damaged", "words"),
    [
        ("section_rows", [1, 2, 3], "wrong at 0; expected section_rows to rise from 0 to at most 4"),
        ("section_rows", [0, 3, 3], "wrong at 2"),
        ("section_rows", [0, 1, 5], "wrong at 2"),
        ("section_rows", [0, 2, 3], "section 0 has rows of different lengths"),
        ("section_rows", [], "section_rows holds 0 values"),
        ("section_indptr", [0, 3, 6], "wrong at 2; expected section_rows to rise from 0 to at most 4, section_indptr"),
        ("section_indptr", [-(2**63), 3, 7], "wrong at 0"),
        ("section_indptr", [0, 2**63 - 1, 7], "wrong at 1"),
        ("section_indptr", [0, 1, 7], "section 1 has rows of different lengths"),
        ("section_indptr", [0, 7], "section_indptr holds 2 values"),
        ("row_order", [2, 0, 3, 3], "row_order[3] is there already"),
        ("row_order", [2, 3, 0, 1], "row_order[2] is there already, or does not come after"),
        ("row_order", [2, 0, 4, 1], "row_order[2] lies outside, expected 0 to 3"),
        ("row_order", [2, 0, 3], "row_order holds 3 values"),
        ("indices", [1, 2, 3, 0, 0, 4, 3], "indices[5] lies outside, expected 0 to 3"),
        ("indices", [1, 2, 3, 0, 0, -1, 3], "indices[5] lies outside, expected 0 to 3"),  # there is no padding
        ("indices", [1, 2, 3, 0, 3, 2, 3], "indices[6] does not come after the one before it in its row"),
    ],
)
def test_damaged_sections(name, damaged, words):
    A = ds.jds_array(np.array([[3.0, 0, 1, 0], [0, 0, 0, 0], [0, 2, 4, 1], [1, 0, 0, 1]]))
    parts = A.parts() | {name: np.array(damaged, np.int64)}
    values = parts.pop("values")
    with raises(ValueError, "jds_array", words):
        make("jds", (values, *parts.values()), shape=(4, 4))


def test_sections_of_one_length():
    """Rows of one length are in one section."""
    parts = np.ones(2), np.zeros(2, int), np.arange(3), np.arange(3), np.arange(3)
    with raises(ValueError, "jds_array: section 1 has rows", "not below that of the previous section"):
        make("jds", parts, shape=(3, 1))


@pytest.mark.parametrize("change", [-1, 1], ids=["too short", "too long"])
@pytest.mark.parametrize("layout", [{"format": f} for f in ds.formats()] + [
    {"format": "ell", "row_lengths": True}, {"format": "ell", "column_bits": 8},
    {"format": "sell", "row_lengths": True, "sigma": 8}, {"format": "sell", "column_bits": 16},
    {"format": "ellcsr", "boundary": 1, "column_bits": 8}, {"format": "ellcsr", "symmetry": "symmetric"},
], ids=str)  # fmt: skip
def test_parts_of_another_size(layout, change):
    A = ds.csr_array(ds.gallery.arrow(300))
    A.values = 1
    A = A.asformat(**layout)
    for name in set(state_of(A)[1]) - {"starts"}:  # these follow from the offsets
        state = state_of(A)
        part = state[1][name]
        state[1][name] = part[:-1] if change < 0 else np.concatenate((part, part[-1:]))
        refuse_state(*state)
    assert unpickled(*state_of(A)).nbytes == A.nbytes


def test_few_values_for_one_triangle():
    """Columns are put in order with their values before they are checked: that wrote past the end of the heap."""
    python(
        """
    import numpy as np, diagsparse as ds
    parts = np.zeros(1), np.full((400, 64), -1), np.zeros(0, int), np.zeros(401, int), None, None, [4]
    for _ in range(20):
        try:
            ds.ellcsr_array(parts, shape=(400, 400))
        except ValueError as e:
            assert "values hold 1 values" in str(e) and "25600" in str(e)
        else:
            raise AssertionError
    """
    )
