"""Validation of the syntax of Matrix Market text, for all lines of a chunk of text at once.

A stream has one bit for each byte of the text, in 64-bit words, least significant bit first. Cursors are bits as well,
one for each line, and all of them move together: an addition carries them past the runs of ones at their positions
(Cameron et al., "Parallel Scanning with Bitstream Addition", Euro-Par 2011).
"""

from __future__ import annotations

import re

import numpy as np

_ONE, _TOP = np.uint64(1), np.uint64(63)
_ZERO = np.uint8(48)
_NOT_FINITE = re.compile(rb"(?<![^ \n-])(?:nan|inf|infinity)(?![^ \n])", re.IGNORECASE)


class Lines:
    """The lines of a text: their number, and the position of the first syntax error.

    Parameters
    ----------
    text : bytes
        Lines of numbers separated by spaces; its length is a multiple of 64 bytes, and the last one is a newline.
    indices, values : int
        Each line contains this number of unsigned integers, followed by this number of values.
    dtype : dtype
        Type of the values: integers, unsigned integers, or floating-point numbers.

    Attributes
    ----------
    count : int
        Number of lines that are not blank.
    fault : int or None
        Position of the first syntax error.
    """

    def __init__(self, text: bytes, indices: int, values: int, dtype: np.dtype) -> None:
        self._scan(text, indices, values, dtype)
        if dtype.kind in "fc" and self._wrong.max():
            finite = _NOT_FINITE.sub(lambda word: b".".ljust(len(word[0]), b"0"), text)
            self._scan(finite, indices, values, dtype)
        self.count = _count(self._entries)
        self.fault = int(_ones(self._wrong)[0]) if self._wrong.max() else None

    def entry(self, number: int) -> int:
        """Return the position where a line begins, by its number without blank lines."""
        return int(_ones(self._entries)[number])

    def _scan(self, text: bytes, indices: int, values: int, dtype: np.dtype) -> None:
        given = np.frombuffer(text, np.uint8)
        blank, self._digit, newline = _Run(given == 32), _Run(given - _ZERO < 10), _stream(given == 10)
        point, power = (b".", b"eE") if dtype.kind in "fc" else (b"", b"")
        self._point, self._power = _marks(text, point), _marks(text, power)
        self._minus = _marks(text, b"" if dtype.kind == "u" else b"-")
        self._sign = _marks(text, b"-+") if self._power is not None and b"+" in text else self._minus
        inside = ~newline
        at = _next(newline)
        at[0] |= _ONE
        self._entries = at = blank.past(at) & inside
        self._wrong = np.zeros_like(at)
        for column in range(indices + values):
            at = self._integer(at) if column < indices else self._number(at)
            if indices <= column + 1 < indices + values:  # the next number could begin with a sign or a point
                self._wrong |= at & inside & blank.others
            at = blank.past(at)
        self._wrong |= at & inside

    def _integer(self, at: np.ndarray) -> np.ndarray:
        self._wrong |= at & self._digit.others
        return self._digit.past(at)

    def _number(self, at: np.ndarray) -> np.ndarray:
        at = _past_one(at, self._minus)
        self._wrong |= _past_one(at, self._point) & self._digit.others  # digits come first, or follow a leading point
        at = self._digit.past(at)
        at = self._digit.past(_past_one(at, self._point))
        if self._power is None:
            return at
        power = at & self._power
        return at ^ power | self._integer(_past_one(_next(power), self._sign))


class _Run:
    """The positions of bytes of one kind, which occur in runs."""

    def __init__(self, mask: np.ndarray) -> None:
        self.bits = _stream(mask)
        self.others = ~self.bits
        self._is_long = self.others.min() == 0  # a run fills at least one word

    def past(self, at: np.ndarray) -> np.ndarray:
        """Move the cursors on bytes of this kind to the next byte of another kind."""
        moved = at + self.bits
        moved[1:] += moved[:-1] < self.bits[:-1]
        if self._is_long:  # a carry may propagate through several words: rare and slow
            total = int.from_bytes(at.tobytes(), "little") + int.from_bytes(self.bits.tobytes(), "little")
            moved = np.frombuffer(total.to_bytes(at.nbytes, "little"), np.uint64)
        return moved & self.others


def _past_one(at: np.ndarray, marks: np.ndarray | None) -> np.ndarray:
    """Move the cursors on these marks by one byte."""
    if marks is None:
        return at
    on = at & marks
    return at ^ on | _next(on)


def _next(at: np.ndarray) -> np.ndarray:
    moved = at << _ONE
    moved[1:] |= at[:-1] >> _TOP
    return moved


def _marks(text: bytes, characters: bytes) -> np.ndarray | None:
    given = np.frombuffer(text, np.uint8)
    streams = [_stream(given == character) for character in characters if character in text]
    return np.bitwise_or.reduce(streams) if streams else None


def _stream(mask: np.ndarray) -> np.ndarray:
    return np.packbits(mask, bitorder="little").view(np.uint64)


def _count(stream: np.ndarray) -> int:
    if hasattr(np, "bitwise_count"):  # from NumPy 2 on
        return int(np.bitwise_count(stream).sum())
    return int(np.unpackbits(stream.view(np.uint8)).sum())


def _ones(stream: np.ndarray) -> np.ndarray:
    """Return the positions of the ones."""
    return np.flatnonzero(np.unpackbits(stream.view(np.uint8), bitorder="little"))
