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
FUNCTIONS += [ds.matmul, ds.plan_matmul, ds.plan_matvec, ds.syrk, ds.syr2k, ds.commutator, ds.anticommutator]
FUNCTIONS += [ds.factorized, ds.solve, ds.memory_report, ds.forecast]
NAMES = [
    "matvec", "rmatvec", "matmul", "sum", "mean", "max", "min", "nanmax", "nanmin", "argmax", "argmin", "asformat",
    "toarray", "todense", "tocsr", "tohm", "toqband", "power",
]  # fmt: skip
METHODS = [getattr(ds.csr_array, name) for name in NAMES]


def described(doc):
    section = re.search(r"Parameters\n-+\n(.*?)(\n\n\w+\n-+\n|$)", inspect.cleandoc(doc), re.S)[1]
    return [name for line in re.findall(r"^(\S.*)", section, re.M) for name in re.findall(r"\w+", line.split(" :")[0])]


@pytest.mark.parametrize("function", FUNCTIONS + METHODS, ids=lambda function: function.__name__)
def test_every_parameter_is_described(function):
    names = list(inspect.signature(function).parameters)
    assert described(function.__doc__) == names[function in METHODS :]  # the first one of a method is the matrix


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
