"""Docstrings that are completed with common parameters describe every parameter, once and in the order of the call."""

import inspect
import re

import pytest

import diagsparse as ds
from diagsparse import gallery, plot
from diagsparse._backends.docstrings import completed_by

pytestmark = pytest.mark.quick
FUNCTIONS = [getattr(module, name) for module in (gallery, plot) for name in module.__all__ if name != "set_up_cases"]
FUNCTIONS += [ds.diags, ds.eye, ds.hstack, ds.vstack, ds.block_diag, ds.read, ds.write, ds.recommend, ds.compare]
METHODS = [
    "matvec", "rmatvec", "matmul", "sum", "mean", "max", "min", "nanmax", "nanmin", "asformat", "toarray", "todense",
    "tocsr", "tohm", "toqband",
]  # fmt: skip
FUNCTIONS += [getattr(ds.csr_array, name) for name in METHODS]


def described(doc):
    section = re.search(r"Parameters\n-+\n(.*?)(\n\n\w+\n-+\n|$)", inspect.cleandoc(doc), re.S)[1]
    return [name for line in re.findall(r"^(\S.*)", section, re.M) for name in re.findall(r"\w+", line.split(" :")[0])]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_parameter_is_described(function):
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "a")]
    assert described(function.__doc__) == names


def test_what_a_docstring_has_is_preserved():
    def other(a, b, *rest, c=0, **more):
        """Return other.

        Parameters
        ----------
        a, b : int
            Both.
        *rest
            The rest.
        c : int
            Number of rows.
        **more
            More.

        Returns
        -------
        other

        Raises
        ------
        ValueError
            Always.

        Notes
        -----
        Not taken.
        """

    @completed_by(other, ("rows", "columns"))
    def function(first, a, *, c=0, **more):
        """Return own.

        Parameters
        ----------
        first : int
            First.
        a : float
            Own.

        Returns
        -------
        own

        Examples
        --------
        >>> function(1, 2)

        >>> function(3, 4)
        """

    doc = function.__doc__
    assert described(doc) == ["first", "a", "c", "more"]
    assert (
        "a : float\n    Own.\nc : int\n    Number of columns.\n**more\n    More.\n\nReturns\n-------\nown\n\nRaises"
        in doc
    )
    assert "Not taken" not in doc and doc.endswith(">>> function(1, 2)\n\n>>> function(3, 4)")

    @completed_by(other)
    def undocumented(a):
        pass

    assert undocumented.__doc__ is None
