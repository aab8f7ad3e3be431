"""The result of `recommend`: layouts, sorted by the total time of the products, and the reason for the first one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from .._backends.backend import get_backend
from .._backends.memory import human
from .._matrix.sparse_array import SparseArray
from .._show import columns, display
from .._study.titles import TITLES
from . import words
from .candidate import Candidate
from .candidates import as_csr, given_matrix
from .variants import exact

TIE = 1.1  #: a ratio of times up to which layouts count as equally fast: smaller ones cannot be measured reliably
_SHOWN = 8
_HEAD = ["format", "bytes", "bytes moved", "time per product", "conversion", "worth it after"]


@dataclass(eq=False, repr=False)
class Recommendation:
    """A ranking of layouts for a matrix: `str()` returns a table, and `build()` the matrix in the recommended layout.

    Attributes
    ----------
    shape : (int, int)
        The shape of the matrix.
    dtype : str
        The dtype of its values; integers and bools count as float64.
    nnz : int
        The number of its entries.
    op : {"matvec", "matmul"}
        The operation that the layouts are compared for.
    products : int
        The number of products for which the conversion has to be worth it.
    reuse : bool
        Whether the products follow each other directly, so that the caches still contain some of A, x and y.
    device : str
        Where the products run: ``"cpu"``, ``"cuda:0"``, ...
    threads : int
        The number of threads on the CPU.
    candidates : list of Candidate
        The recommended layout, then the others by the total time of the conversion and all products. Each of them has
        the attributes ``format``, ``layout`` (a dict with the options of the format), ``dtype`` (of the stored values),
        ``nbytes``, ``moved_nbytes`` (by one product), ``seconds`` (of one product, predicted), ``conversion`` (seconds,
        predicted), ``measured`` (seconds of one product with ``tune=True``, otherwise None), and ``name``.
    current : Candidate
        The layout of the matrix as it was given.
    reason : str
        Why the first layout is recommended.
    hints : list of str
        Hints on options that would be even faster, but change the dtype of the values.
    left_out : dict of str to str
        Layouts that do not fit in memory, with the reason. With ``formats=``, also formats that are not suitable.
        Formats that are certainly slower appear in neither list.
    """

    shape: tuple[int, int]
    dtype: str
    nnz: int
    op: str
    products: int
    reuse: bool
    device: str
    threads: int
    current: Candidate
    candidates: list[Candidate]
    reason: str
    hints: list[str]
    left_out: dict[str, str]  # formats and why
    _csr: SparseArray = field(repr=False)

    @property
    def best(self) -> Candidate:
        """The recommended layout."""
        return self.candidates[0]

    @property
    def format(self) -> str:
        """The recommended format."""
        return self.best.format

    @property
    def layout(self) -> dict[str, Any]:
        """The options of that format."""
        return self.best.layout

    @property
    def unchanged(self) -> bool:
        """Whether the matrix should stay as it is."""
        return self.best is self.current

    @property
    def ties(self) -> list[Candidate]:
        """The layouts whose total time is at most 10 % longer than that of the recommended one."""
        return [one for one in self.candidates[1:] if self.total_seconds(one) <= TIE * self.total_seconds(self.best)]

    def total_seconds(self, candidate: Candidate) -> float:
        """Return the seconds of the conversion and of all products."""
        return candidate.total_seconds(self.products)

    def break_even(self, candidate: Candidate | str) -> int | None:
        """Return the number of products from which on the conversion to a layout saves time.

        Parameters
        ----------
        candidate : Candidate or str
            One of ``candidates``, or its name.

        Returns
        -------
        int or None
            0 if the layout is faster from the first product on, None if it never is.

        Raises
        ------
        ValueError
            If no candidate has this name.
        TypeError
            If `candidate` is neither a candidate nor a name.
        """
        if isinstance(candidate, str):
            by_name = {each.name: each for each in reversed(self.candidates)}
            if candidate not in by_name:
                names = "; ".join(each.name for each in self.candidates)
                raise ValueError(f"break_even: unknown layout {candidate!r}; expected one of: {names}")
            candidate = by_name[candidate]
        if not isinstance(candidate, Candidate):
            raise TypeError(f"break_even: expected one of the candidates or its name, got {candidate!r}")
        saved = self.current.product_seconds - candidate.product_seconds
        cost = candidate.conversion - self.current.conversion
        if cost <= 0:
            return 0 if saved >= 0 else None
        return ceil(cost / saved) if saved > 0 else None

    def build(self, A: Any = None) -> Any:
        """Return the matrix, or another one, in the recommended layout, on the device of the recommendation.

        Parameters
        ----------
        A : sparse matrix (of diagsparse, SciPy or CuPy) or dense 2-D array, optional
            Another matrix to be stored in the same format with the same options, for example one with new values. By
            default, the matrix that was passed to `recommend`. It is returned itself if it should stay as it is.

        Returns
        -------
        SparseArray
            With another order of the rows, a `Reordered` operator. If a SciPy matrix should stay as it is, it is
            returned unchanged, even if its values are integers.

        Raises
        ------
        TypeError
            If `A` is not a matrix of numbers.
        ValueError
            If the options are impossible for `A`: it is not symmetric or not periodic, its number of rows differs from
            that of the order, or the recommended dtype would round its values.
        MemoryError
            If the result does not fit in memory.

        Examples
        --------
        >>> import diagsparse as ds
        >>> advice = ds.recommend(ds.gallery.stencil(5, (1000, 1000)))
        >>> advice.build(2 * ds.gallery.stencil(5, (1000, 1000))).period
        1000
        """
        if A is None:
            return self.best.build(self._csr)
        csr = as_csr(given_matrix(A, "build"), get_backend(self.device), "build")
        if self.best.narrow and not exact(csr, self.best.dtype):
            raise ValueError(f"build: {self.best.dtype} would round values of A; call recommend for this matrix")
        try:
            return self.best.build_like(csr)
        except ValueError as error:
            raise ValueError(f"build: A cannot be stored as {self.best.name}: {error}") from None

    @property
    def advice(self) -> str:
        """The recommended layout and the reason, in one line."""
        layout = f"stay with {self.current.name}" if self.unchanged else self.best.name
        return f"Advice: {layout}. {self.reason}"

    # ---- text -----------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values, ready for JSON."""
        names = ("dtype", "nnz", "op", "products", "reuse", "device", "threads", "format", "layout", "unchanged",
                 "reason", "hints", "left_out")  # fmt: skip
        return {
            "shape": list(self.shape),
            **{name: getattr(self, name) for name in names},
            "ties": [one.name for one in self.ties],
            "candidates": [self._plain(one) for one in self.candidates],
        }

    def _plain(self, one: Candidate) -> dict[str, Any]:
        values = {
            name: value
            for name, value in vars(one).items()
            if name not in ("order", "statistics", "matrix", "positions")
        }
        return values | {"name": one.name, "break_even": self.break_even(one), "current": one is self.current}

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<recommendation for {m} x {n} {self.dtype}: {self.best.name}, of {len(self.candidates)} layouts>"

    def __str__(self) -> str:
        shown = self._shown()
        lines = columns.columns([_HEAD, *map(self._cells, shown)], "<>>>>>")
        return "\n".join([self._title(), *lines, *self._notes()])

    def _repr_html_(self) -> str:
        shown = self._shown()
        longest = max(self.total_seconds(one) for one in shown) or 1.0
        rows = [
            [*self._cells(one), display.bar(self.total_seconds(one) / longest, one is not self.best)] for one in shown
        ]
        return display.page(repr(self), [], display.table([*_HEAD, "total time"], rows), display.lines(self._notes()))

    def _title(self) -> str:
        where = self.device if self.device != "cpu" else f"cpu, {display.counted(self.threads, 'thread')}"
        matrix = f"{self.shape[0]} x {self.shape[1]}  {self.dtype}  {self.nnz} nonzeros"
        return f"{matrix}   {words.times(self.products)} {TITLES[self.op]}   {where}"

    def _shown(self) -> Sequence[Candidate]:
        first = self.candidates[:_SHOWN]
        return first if self.current in first else [*first, self.current]

    def _cells(self, one: Candidate) -> list[str]:
        products = self.break_even(one)
        after = "never" if products is None else display.counted(products, "product")
        time = columns.seconds(one.product_seconds) + (" measured" if one.measured is not None else "")
        return [
            one.name + (" (current)" if one.matrix is not None else ""),
            human(one.nbytes),
            human(one.moved_nbytes),
            time,
            columns.seconds(one.conversion) if one.conversion else "-",
            "-" if one is self.current else after,
        ]

    def _notes(self) -> list[str]:
        names = "; ".join(one.name for one in self.ties)
        ties = [f"Equally fast, within {round(100 * (TIE - 1))} %: {names}"] if names else []
        out = [f"Left out: {name}: {why}" for name, why in self.left_out.items()]
        return [self.advice, *ties, *self.hints, *out]
