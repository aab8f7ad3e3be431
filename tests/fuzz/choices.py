"""Random choices that are taken from bytes: a case is a string of bytes, and others like it result from changing it.

This makes a generator of structured input (a file, a pickle, component arrays) one that can be guided: what a changed
byte changes is a choice of the generator, so the input stays one of its grammar (R. Padhye, C. Lemieux, K. Sen,
M. Papadakis, Y. Le Traon, *Semantic fuzzing with Zest*, ISSTA 2019).
"""

import random

MOST = 1 << 16  # bytes that a case may take


class Choices(random.Random):
    """A source of random numbers that takes them from `given`, and from then on from a generator seeded by it."""

    def __init__(self, given: bytes) -> None:
        super().__init__()
        self._further = random.Random(given)
        self.taken = bytearray()
        self._given = given

    def _take(self, count: int) -> int:
        at = len(self.taken)
        piece = self._given[at : at + count]
        piece += self._further.randbytes(count - len(piece))
        if at > MOST:
            raise RuntimeError(f"a case that makes choices of more than {MOST} bytes")
        self.taken += piece
        return int.from_bytes(piece, "big")

    def random(self) -> float:
        """Return a number from 0 to below 1; it takes two bytes."""
        return self._take(2) / (1 << 16)

    def getrandbits(self, k: int) -> int:
        """Return k random bits, which take as many bytes as hold them."""
        count = (k + 7) // 8
        return self._take(count) >> (8 * count - k)


def changed(given: bytes, other: bytes, chance: random.Random) -> bytes:
    """Return choices like the given ones: a few changed, or from a point on new ones, or those of another case."""
    result = bytearray(given)
    kind = chance.choice(("bytes", "bytes", "end", "other"))
    if kind == "bytes":
        for _ in range(chance.choice((1, 1, 2, 3))):
            result[chance.randrange(len(result))] = chance.randrange(256)
    elif kind == "end":
        del result[chance.randrange(len(result)) :]
    else:
        at = chance.randrange(min(len(result), len(other)))
        result[at:] = other[at:]
    return bytes(result)
