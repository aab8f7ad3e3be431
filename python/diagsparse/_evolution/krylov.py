"""Exponentials of matrices in Krylov spaces: by the Lanczos process if they are Hermitian, otherwise by Arnoldi's.

Y. Saad, *Analysis of some Krylov subspace approximations to the matrix exponential operator*, SIAM J. Numer. Anal. 29
(1992), 209-228.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.linalg import expm

from .lanczos import WHOLE, Krylov, Process
from .vectors import Vectors

MOST = WHOLE  #: vectors of a space
_FIRST, _EVERY = 4, 4  # numbers of vectors after which the error is estimated
_POINTS = 64  # of the time at which the error is estimated
_SMALLEST = 1e-12  # of the remaining time: a shorter step means that the iteration stagnates


def _within(space: Krylov, factor: complex, length: float, rate: float) -> float:
    """Return the longest step, up to `length`, whose error is at most `rate` times its length, relative to the vector.

    The error of exp(factor s A) in the space is the integral of rest |(exp(factor u H))_m1| over u < s, times the
    largest growth of a vector, which is 1 for a Hermitian matrix and imaginary factor, and is estimated from H
    otherwise. The mean eigenvalue of H scales the exponentials: a decay is integrated, a gain is that of the error.
    """
    if space.rest == 0:
        return length
    m = len(space.basis)
    center = (space.small.diagonal() / m).sum()
    around = space.small - center * np.eye(m)
    scaled = float((factor * center).real)
    decay, gain = min(scaled, 0.0), max(scaled, 0.0)
    width = float(np.linalg.norm(around, 2)) + space.rest
    reach = min(length, 4 * m / width)
    while reach > _SMALLEST * length or reach == length:
        step = reach / _POINTS
        once, column = expm(factor * step * around), np.eye(m, 1, dtype=complex)[:, 0]
        part = float(np.expm1(decay * step)) / decay if decay else step  # the integral of exp(decay u) over a step
        error, growth, points = 0.0, 1.0, 0
        while points < _POINTS:
            before, column = abs(column[-1]), once @ column
            start, end = points * step, (points + 1) * step
            growth = max(growth, float(np.linalg.norm(column) * np.exp(decay * end)))
            error += space.rest * max(before, abs(column[-1])) * part * float(np.exp(decay * start)) * growth
            if not (error == 0 or np.log(error) + gain * end <= np.log(rate * end)):
                break
            points += 1
        if points > 0:
            return points * step
        reach = step  # in finer steps
    return 0.0


def states(
    v: Vectors, A: Any, x: Any, times: Sequence[float], hermitian: bool, scale: float, factor: complex,
    tol: float, done: Callable[[float, int], None],
) -> Iterator[Any]:  # fmt: skip
    """Yield the states at times that go away from 0; each is valid until the next one is computed.

    Columns of a block are vectors of their own spaces. ``done(time, products)`` is called after each space.
    """
    if A.shape[0] <= MOST:
        yield from _of_few_rows(v, A, x, times, hermitian, factor, done)
    elif x.ndim == 2:
        columns = [_of_vector(v, A, column, times, hermitian, scale, factor, tol, done) for column in v.columns(x)]
        y = v.empty(x.shape, x.dtype)
        for _ in times:
            for column, to in zip(columns, v.columns(y), strict=True):
                v.assign(next(column), to)
            yield y
    else:
        yield from _of_vector(v, A, x, times, hermitian, scale, factor, tol, done)


def _of_few_rows(
    v: Vectors, A: Any, x: Any, times: Sequence[float], hermitian: bool, factor: complex,
    done: Callable[[float, int], None],
) -> Iterator[Any]:  # fmt: skip
    """Yield the states of a matrix that is small itself: the unit vectors are a basis of the whole space."""
    dense, start, products = A.to("cpu").toarray().astype(np.result_type(A.dtype, float)), A._backend.host(x), len(x)
    if hermitian:
        values, vectors = np.linalg.eigh(dense)
        components = (vectors.conj().T @ start).T
        if factor != 1 and max(map(abs, times), default=0.0) * abs(values).max() * np.finfo(float).eps > 1:
            raise OverflowError(f"evolve: H has eigenvalues so large that phases at t = {times[-1]:g} are not known")
    for time in times:
        with np.errstate(all="ignore"):
            if hermitian:
                state = vectors @ (np.exp(factor * time * values) * components).T
            else:
                state = expm(factor * time * dense) @ start
            state = (state if x.dtype.kind == "c" else state.real).astype(x.dtype)
        y = v.empty(x.shape, x.dtype)
        v.assign(v.given(np.asfortranarray(state)), y)
        done(time, products)
        products = 0
        yield y if time else x


def _of_vector(
    v: Vectors, A: Any, x: Any, times: Sequence[float], hermitian: bool, scale: float, factor: complex,
    tol: float, done: Callable[[float, int], None],
) -> Iterator[Any]:  # fmt: skip
    """Yield the states of a vector."""
    end, t, i, dtype = times[-1] if times else 0.0, 0.0, 0, x.dtype
    direction = np.sign(end) or 1.0
    rate = tol / abs(end) if end else tol
    while i < len(times):
        while i < len(times) and times[i] == t:
            yield x
            i += 1
        if i == len(times):
            return
        left = abs(end - t)
        process = Process(v, A, x, hermitian, scale, dtype)
        step = left
        while process.rest > 0:
            process.step()
            m = len(process.basis)
            if m == MOST or (m >= _FIRST and m % _EVERY == 0) or process.rest == 0:
                step = _within(process.result(), factor * direction, left, rate)
                if step >= left or m == MOST:
                    break
        if not step > _SMALLEST * left:
            raise np.linalg.LinAlgError(
                f"evolve: in a Krylov space of {MOST} vectors, no step from t = {t:g} on keeps tol={tol:g}"
            )
        until = end if step >= left else t + direction * step
        inside = [time for time in times[i:] if abs(time) <= abs(until)]
        targets = inside if inside and inside[-1] == until else [*inside, until]
        found = _at(v, process, factor, [time - t for time in targets], dtype)
        done(until, len(process.basis))
        for state in found[: len(inside)]:
            yield state
            i += 1
        x, t = found[-1], until


def _at(v: Vectors, process: Process, factor: complex, lengths: list[float], dtype: np.dtype) -> list[Any]:
    """Return the states after these lengths of time."""
    if not process.basis:  # a vector of zeros, or one that is not finite
        x = v.empty(process._next.shape, dtype)
        v.combine(0.0 if process.size == 0 else np.nan, process._next, 0.0, x)
        return [x] * len(lengths)
    space = process.result()
    if process.hermitian:
        values, vectors = np.linalg.eigh(space.small)
        inner = (np.exp(factor * np.outer(lengths, values)) * vectors[0].conj()) @ vectors.T
    else:
        inner = np.array([expm(factor * s * space.small)[:, 0] for s in lengths])
    inner = space.size * inner
    return v.sums(inner if dtype.kind == "c" else inner.real, space.basis, dtype)
