"""What `recommend` found: layouts by the time that all products take in them, and why the first one is first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from .._matrix.sparse_array import SparseArray
from .._places.backend import place
from .._places.memory import human
from .._show import columns, display
from .._study.titles import TITLES
from .candidate import Candidate
from .candidates import as_rows, given_matrix
from .offers import exact

TIE = 1.1  #: times as long that still is as fast: no measurement on a busy machine could tell them apart
_SHOWN = 8
_HEAD = ["format", "bytes", "a product moves", "a product takes", "conversion", "pays after"]


@dataclass(eq=False, repr=False)
class Recommendation:
    """Layouts of a matrix, the recommended one first: `str()` gives a table, `build()` the matrix in that layout.

    Attributes
    ----------
    shape, dtype, nnz
        Of the matrix, as its products see it.
    op, products, device, threads
        The work that was asked about, and where.
    candidates : list of Candidate
        The recommended one, then by the time that the conversion and all products take together. Each has ``format``,
        ``layout`` (options of the format), ``dtype`` of the stored values, ``nbytes``, ``moved_nbytes`` of one product,
        ``seconds`` of one product and ``conversion`` by the model, ``measured`` seconds with ``tune=True``, and
        ``name``.
    base : Candidate
        The matrix as it is.
    reason : str
        The rule that decided.
    offers : list of str
        What would be faster yet, and changes something that the caller sees: the type of the values.
    left_out : dict
        What does not fit into memory, and with ``formats=`` also what does not come into question, with the reasons.
        Formats that are surely slower are in neither list.
    """

    shape: tuple[int, int]
    dtype: str
    nnz: int
    op: str
    products: int
    device: str
    threads: int
    base: Candidate
    candidates: list[Candidate]
    reason: str
    offers: list[str]
    left_out: dict[str, str]  # formats and why
    _csr: SparseArray = field(repr=False)

    @property
    def best(self) -> Candidate:
        """The recommended layout."""
        return self.candidates[0]

    @property
    def format(self) -> str:
        """Its format."""
        return self.best.format

    @property
    def layout(self) -> dict[str, Any]:
        """The options of that format."""
        return self.best.layout

    @property
    def stays(self) -> bool:
        """Whether the matrix should stay as it is."""
        return self.best is self.base

    @property
    def ties(self) -> list[Candidate]:
        """The layouts that take as long as the recommended one, within 10 %."""
        return [one for one in self.candidates[1:] if self.total(one) <= TIE * self.total(self.best)]

    def total(self, one: Candidate) -> float:
        """Return the seconds of the conversion and of all products."""
        return one.total(self.products)

    def pays_after(self, one: Candidate | str) -> int | None:
        """Return the products after which the conversion to a layout has paid; 0: at once; None: never.

        The layout is one of ``candidates``, or its name.
        """
        if isinstance(one, str):
            named = [each for each in self.candidates if each.name == one]
            if not named:
                names = "; ".join(each.name for each in self.candidates)
                raise ValueError(f"pays_after: no layout {one!r}; there are {names}")
            one = named[0]
        if not isinstance(one, Candidate):
            raise TypeError(f"pays_after: {one!r}: expected one of candidates, or its name")
        saved, more = self.base.taken - one.taken, one.conversion - self.base.conversion
        if more <= 0:
            return 0 if saved >= 0 else None
        return ceil(more / saved) if saved > 0 else None

    def build(self, A: Any = None) -> Any:
        """Return the matrix, or another one, in the recommended layout, on the device asked about.

        Parameters
        ----------
        A : sparse matrix (ours, SciPy's or CuPy's) or dense 2-D array, optional
            Another matrix for the same format and options: with new values, or of another grid. By default the one that
            advice was given on, which is returned itself where it stays as it is.

        Returns
        -------
        matrix of ours
            A layout in another order is a `Reordered` operator. What stays as it is may be SciPy's, in its own type:
            integers stay integers there.

        Raises
        ------
        TypeError
            Where `A` is no matrix of numbers.
        ValueError
            Where `A` does not allow the options: it is not symmetric, does not repeat, has another number of rows than
            the order, or values that the recommended type would round.
        MemoryError
            Where it does not fit.

        Examples
        --------
        >>> import diagsparse as ds
        >>> advice = ds.recommend(ds.gallery.stencil(5, (1000, 1000)))
        >>> advice.build(2 * ds.gallery.stencil(5, (1000, 1000))).period
        1000
        """
        if A is None:
            return self.best.made_of(self._csr)
        csr = as_rows(given_matrix(A, "build"), place(self.device), "build")
        if self.best.narrow and not exact(csr, self.best.dtype):
            raise ValueError(f"build: A has values that {self.best.dtype} would round; recommend(A) looks at them")
        try:
            return self.best.made_like(csr)
        except ValueError as error:
            raise ValueError(f"build: A cannot be stored as {self.best.name}: {error}") from None

    @property
    def advice(self) -> str:
        """The recommended layout and the reason, in a line."""
        told = f"stay with {self.base.name}" if self.stays else self.best.name
        return f"Advice: {told}. {self.reason}"

    # ---- text -----------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values, ready for JSON."""
        return {
            "shape": list(self.shape),
            "dtype": self.dtype,
            "nnz": self.nnz,
            "op": self.op,
            "products": self.products,
            "device": self.device,
            "threads": self.threads,
            "format": self.format,
            "layout": self.layout,
            "stays": self.stays,
            "reason": self.reason,
            "ties": [one.name for one in self.ties],
            "offers": self.offers,
            "left_out": self.left_out,
            "candidates": [self._plain(one) for one in self.candidates],
        }

    def _plain(self, one: Candidate) -> dict[str, Any]:
        values = {name: value for name, value in vars(one).items() if name not in ("order", "survey", "matrix")}
        return values | {"name": one.name, "pays_after": self.pays_after(one), "as_it_is": one is self.base}

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<recommendation for {m} x {n} {self.dtype}: {self.best.name}, of {len(self.candidates)} layouts>"

    def __str__(self) -> str:
        shown = self._shown()
        lines = columns.columns([_HEAD, *map(self._cells, shown)], "<>>>>>")
        return "\n".join([self._title(), *lines, *self._notes()])

    def _repr_html_(self) -> str:
        shown = self._shown()
        longest = max(self.total(one) for one in shown) or 1.0
        rows = [[*self._cells(one), display.bar(self.total(one) / longest, one is not self.best)] for one in shown]
        return display.page(repr(self), [], display.table([*_HEAD, "all together"], rows), display.lines(self._notes()))

    def _title(self) -> str:
        work = f"{self.products} products {TITLES[self.op]}" if self.products != 1 else f"one product {TITLES[self.op]}"
        where = self.device if self.device != "cpu" else f"cpu, {self.threads} thread{'s' * (self.threads > 1)}"
        return f"{self.shape[0]} x {self.shape[1]}  {self.dtype}  {self.nnz} nonzeros   {work}   {where}"

    def _shown(self) -> Sequence[Candidate]:
        first = self.candidates[:_SHOWN]
        return first if self.base in first else [*first, self.base]

    def _cells(self, one: Candidate) -> list[str]:
        pays = self.pays_after(one)
        after = "never" if pays is None else f"{pays} product{'s' * (pays != 1)}" if pays else "at once"
        taken = columns.seconds(one.taken) + (" measured" if one.measured is not None else "")
        return [
            one.name + (" (as it is)" if one.matrix is not None else ""),
            human(one.nbytes),
            human(one.moved_nbytes),
            taken,
            columns.seconds(one.conversion) if one.conversion else "-",
            "-" if one is self.base else after,
        ]

    def _notes(self) -> list[str]:
        names = "; ".join(one.name for one in self.ties)
        ties = [f"As fast, within {round(100 * (TIE - 1))} %: {names}"] if names else []
        out = [f"Left out: {name}: {why}" for name, why in self.left_out.items()]
        return [self.advice, *ties, *self.offers, *out]
