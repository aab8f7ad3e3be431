"""The layouts: decoded independently, compared with the worked examples, counted to the byte, shared, copied."""

import copy
import html.parser
import pickle
import re

import numpy as np
import pytest
from cases import DIAGONAL, EACH_DTYPE, MEDIUM, SMALL, fits, holding, host, make, matrix, ours, pairs, random
from formats import as_given, decode, of, options

import diagsparse as ds

EXAMPLE = np.array([[1.0, 5, 0, 0, 0], [9, 2, 6, 0, 0], [0, 10, 3, 7, 0], [0, 0, 11, 4, 8]])
FORMATS = pytest.mark.parametrize("format", ds.formats())


def example(format):
    """Return the dense matrix that the header of a format draws."""
    return EXAMPLE[:, :4] if format == "cdm" else np.array(getattr(of(format), "MATRIX", EXAMPLE))


@pytest.mark.quick
@FORMATS
def test_worked_example(format):
    parts = make(format, example(format), **options(format)).parts()
    assert parts.keys() == of(format).EXAMPLE.keys()
    for name, expected in of(format).EXAMPLE.items():
        if format in ("dia", "ell", "sell") and name == "values":  # which have padding
            inside = np.array(expected) != 0
            assert np.array_equal(parts[name][inside], np.array(expected)[inside])
        else:
            assert np.array_equal(parts[name], expected), (name, parts[name], expected)


@pytest.mark.quick
@FORMATS
def test_built_from_the_worked_example(format):
    parts = {name: np.array(value) for name, value in of(format).EXAMPLE.items()}
    A = make(format, as_given(format, parts), shape=example(format).shape)
    assert np.array_equal(A.toarray(), example(format))
    assert np.array_equal(decode(format, parts, A.shape), example(format))


@FORMATS
@EACH_DTYPE
def test_decoder(format, dtype, device):
    for name in holding(format, SMALL):
        A, expected = ours(name, format, dtype, device), matrix(name, dtype).toarray()
        assert A.dtype == dtype and A.shape == expected.shape and A.format == format
        for view in (A, A.T.copy(), A.H.copy(), A.conj().copy()):
            assert np.array_equal(decode(view.format, host(view.parts()), view.shape), view.toarray()), name
        assert np.array_equal(A.toarray(), expected), name
        assert np.array_equal(A.T.toarray(), expected.T), name
        assert np.array_equal(A.H.toarray(), expected.conj().T), name
        assert np.array_equal(A.conj().toarray(), expected.conj()), name


@pytest.mark.quick
@FORMATS
def test_nbytes_and_nnz(format):
    for name in holding(format, SMALL):
        for dtype in ("float32", "complex128"):
            a, A, item = matrix(name, dtype), ours(name, format, dtype), np.dtype(dtype).itemsize
            assert (A.nnz, A.nbytes) == of(format).sizes(a, item), name
            assert A.nbytes == sum(part.nbytes for part in A.parts().values()), name
            assert A.size == A.nnz


@pytest.mark.parametrize("n, kl, ku", [(1, 0, 0), (5, 1, 1), (5, 4, 4), (100, 3, 7), (1000, 0, 20), (64, 63, 0)])
def test_hm_holds_a_full_band_without_padding(n, kl, ku):
    A = ds.hm_array(ds.gallery.banded(n, kl, ku, seed=0))
    assert A.nnz == A.values.size == n * (ku + kl + 1) - ku * (ku + 1) // 2 - kl * (kl + 1) // 2


def test_hm_order_of_offsets():
    A = ds.hm_array(matrix("wide 20 x 70"))
    assert A.offsets.tolist() == [0, 1, 49, 50, 60, 69, -3, -19]


@FORMATS
@EACH_DTYPE
def test_component_arrays_are_not_copied(format, dtype):
    parts = {name: np.array(value) for name, value in of(format).EXAMPLE.items()}
    parts["values"] = parts["values"].astype(dtype)
    A = make(format, as_given(format, parts), shape=example(format).shape)
    assert np.shares_memory(A.values, parts["values"])
    assert np.shares_memory(A.values, A.parts()["values"])
    A.values[..., -1] = 77
    assert (parts["values"] == 77).any() and (A.toarray() == 77).any()
    for name, part in A.parts().items():
        assert np.shares_memory(part, A.parts()[name]), name
    copied = make(format, as_given(format, parts), shape=example(format).shape, copy=True)
    assert not np.shares_memory(copied.values, parts["values"])


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_values_of_scipy_are_not_copied_either_way(format):
    a = matrix("banded 64").asformat(format)
    A = make(format, a)
    assert np.shares_memory(A.values, a.data)
    assert np.shares_memory(A.to_scipy().data, A.values)
    if format != "coo":
        assert np.shares_memory(A.T.values, a.data)


@FORMATS
def test_component_arrays_outlive_the_matrix(format):
    def values():
        return make(format, example(format)).parts()["values"]

    survivor = values()
    junk = [np.full(survivor.shape, 123.0) for _ in range(50)]  # would land in memory that was given back
    assert survivor.sum() == example(format).sum() and len(junk) == 50


@FORMATS
def test_a_view_has_no_component_arrays(format):
    views = [make(format, example(format).astype(complex)).conj()]
    if format not in ("csr", "csc"):
        views.append(make(format, example(format)).T)
    for view in views:
        for ask in (view.parts, lambda view=view: view.values):
            with pytest.raises(ValueError, match=r"view.*copy"):
                ask()


@pytest.mark.quick
@FORMATS
@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy", "copy()"])
def test_copies(format, how):
    copied = {
        "pickle": lambda A: pickle.loads(pickle.dumps(A)),
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "copy()": lambda A: A.copy(),
    }[how]
    for name in holding(format, ("0x5", "1x7", "banded 9", "wide 20 x 70", "empty rows", "explicit zeros")):
        A = ours(name, format, "complex64")
        for view in (A, A.T, A.conj(), A.H):
            B = copied(view)
            assert (type(B), B.shape, B.dtype, B.nnz) == (type(view), view.shape, view.dtype, view.nnz), name
            assert np.array_equal(B.toarray(), view.toarray()), name
        B = copied(A)
        for part, original in zip(B.parts().values(), A.parts().values(), strict=True):
            assert np.array_equal(part, original) and part.dtype == original.dtype, name
        assert B.nnz == 0 or not np.shares_memory(B.values, A.values), name


@FORMATS
def test_round_trip_through_scipy(format):
    for dtype in ("float32", "complex128"):
        for name in holding(format, MEDIUM):
            a, A = matrix(name, dtype), ours(name, format, dtype)
            for view, expected in ((A, a), (A.T, a.T), (A.H, a.T.conj())):
                back = view.to_scipy()
                assert back.dtype == a.dtype and back.shape == expected.shape
                assert np.array_equal(back.toarray(), expected.toarray()), name
                for scipy_format in ("csr", "dia", "coo"):
                    there = view.to_scipy(scipy_format)
                    assert there.format == scipy_format
                    assert np.array_equal(there.toarray(), expected.toarray()), (name, scipy_format)
                    again = make(view.format, there)
                    assert np.array_equal(again.toarray(), expected.toarray()), (name, scipy_format)


@pytest.mark.quick
@pairs("format", "target")
def test_round_trip_among_formats(format, target):
    for name in holding(target, holding(format, MEDIUM)):
        A = ours(name, format, "complex64")
        for view in (A, A.T, A.H, A.conj()):
            for B in (view.asformat(target), make(target, view)):
                assert (B.format, B.shape, B.dtype) == (target, view.shape, view.dtype)
                assert np.array_equal(B.toarray(), view.toarray()), name
        again = A.asformat(target).asformat(format)
        assert np.array_equal(again.toarray(), A.toarray()), name


@FORMATS
def test_to_format_methods(format):
    A = ours("banded 9", format)
    for target in ds.formats():
        B = getattr(A, f"to{target}")()
        assert B.format == target and np.array_equal(B.toarray(), A.toarray())


@FORMATS
def test_asformat_of_its_own_format_copies_only_on_request(format):
    A = make(format, example(format))
    assert A.asformat(format) is A and A.asformat(None) is A
    assert not np.shares_memory(A.asformat(format, copy=True).values, A.values)
    nothing = make(format, np.zeros((3, 3)))
    assert nothing.asformat(format, copy=True) is not nothing


@FORMATS
def test_repr(format):
    A = ours("banded 9", format, "float32")
    unit = f"{A.nbytes / 1000:.1f} KB" if A.nbytes >= 1000 else f"{A.nbytes} B"
    band = "6 diagonals from -2 to 3, "
    whats = {"dia": band, "hm": band, "cdm": "11 diagonals from -8 to 8, "}
    whats |= {"ell": "width 6, ", "hyb": "width 4, ", "ellcsr": "width 3, "}
    whats |= {"sell": "slices of 8, ", "jds": "sections 4, ", "csb": "block 16, "}
    whats |= {"qband": "6 diagonals from -2 to 3, 0 in the rest, ", "mdia": band, "bmsparse": "4 blocks, "}
    what = whats.get(format, "")
    assert repr(A) == f"<{format}_array 9 x 9 float32: {what}{A.nnz} stored, {unit}, cpu>"
    if format in DIAGONAL:
        assert repr(A.T).endswith("cpu, transposed view>")
        assert f"from {min(A.T.offsets)} to {max(A.T.offsets)}" in repr(A.T)


def test_boundaries_of_ellcsr(device):
    a = ds.csr_array(ds.gallery.ci_matrix(60, reference_fraction=0.5, seed=1)).to(device)
    dense = a.toarray()
    shortest = (dense != 0).sum(axis=1).min()
    for given, leads in (
        ({}, lambda position, j: position < shortest),
        ({"boundary": 0}, lambda position, j: False & (j < 0)),
        ({"boundary": 4}, lambda position, j: position < 4),
        ({"boundary": 100}, lambda position, j: position < 100),
        ({"boundary_column": 0}, lambda position, j: j < 0),
        ({"boundary_column": 29}, lambda position, j: j < 29),
        ({"boundary_column": 1000}, lambda position, j: j < 1000),
    ):
        A = ds.ellcsr_array(a, **given)
        leading = (dense != 0) & leads(np.cumsum(dense != 0, axis=1) - 1, np.arange(60))
        assert A.width == given.get("boundary", leading.sum(axis=1).max()), given
        assert A.csr_indices.size == (dense != 0).sum() - leading.sum(), given
        assert np.array_equal(A.toarray(), dense) and A.nbytes == ds.memory_report(A)["ellcsr"], given
    for bad, words in (({"boundary": 1, "boundary_column": 1}, "one of them"), ({"boundary": -1}, "0 to 2147483647")):
        with pytest.raises(ValueError, match=re.escape(words)):
            ds.ellcsr_array(a, **bad)
    with pytest.raises(TypeError, match="boundary_column='1': expected an integer"):
        ds.ellcsr_array(a, boundary_column="1")


class Balanced(html.parser.HTMLParser):
    """Checks that every tag is closed in order, and collects the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@FORMATS
def test_html(format):
    for name in holding(format, ("0x0", "0x5", "1x1", "7x1", "banded 9", "banded 127", "scattered", "wide 20 x 70")):
        for dtype in ("float32", "complex128"):
            A = ours(name, format, dtype)
            for view in (A, A.T):
                drawn = view._repr_html_()
                page = Balanced()
                page.feed(drawn)
                assert not page.open and "<script" not in drawn
                assert repr(view) in page.text
                assert not re.search(r"\b(nan|inf)\b", drawn), name
            for part in A.parts():
                assert f"<th scope='row'>{part}</th>" in A._repr_html_()
    small = make(format, example(format))._repr_html_()
    for value in example(format)[example(format) != 0]:
        assert f">{value:.0f}</text>" in small  # a small matrix is drawn with its values


def test_values_of_random_matrices_are_bitwise_unchanged():
    for format in DIAGONAL:
        values = random((3, 50), "float64", format)
        A = ds.cdm_array((values, [0, 7, 49]))
        assert fits(format, A.shape)
        for bits in (A.asformat(format).asformat("cdm"), A.T.asformat(format).T.asformat("cdm")):
            assert np.array_equal(bits.values, values)
