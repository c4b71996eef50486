"""Read a text file as a sequence of words.

The text is split at once, and sequences of numbers are converted at once, so that the memory is proportional
to the size of the file and no Python loop runs over numbers. Every count is compared with the number of
remaining words before anything of that size is allocated.
"""

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from stickslip.files.errors import shown
from stickslip.problem.checks import Array, IntArray

DIGITS = 18
"""Largest number of digits of an integer, which fits into int64."""


class Misread(Exception):  # noqa: N818  (internal: it becomes a FormatError)
    """A word does not agree with the format; ended: the file is only too short."""

    def __init__(self, token: int, expected: str, found: str, *, ended: bool = False):
        super().__init__(expected, found)
        self.token, self.expected, self.found, self.ended = token, expected, found, ended


class Tokens:
    """The words of a text, and the reading position."""

    def __init__(self, data: bytes):
        self._data = data
        self._words = data.split()
        self._underscored = b"_" in data  # Python accepts 1_000 as a number
        self.at = 0

    def __len__(self) -> int:
        return len(self._words)

    @property
    def left(self) -> int:
        """Number of remaining words."""
        return len(self._words) - self.at

    def fail(self, expected: str, found: str, at: int | None = None) -> NoReturn:
        """Raise a Misread at the word `at`, by default the last one read."""
        raise Misread(self.at - 1 if at is None else at, expected, found)

    def need(self, count: int, what: str) -> None:
        """Raise a Misread unless `count` words are left."""
        if count > self.left:
            expectation = f"{count} word{'s' * (count != 1)} for {what}"
            raise Misread(self.at, expectation, f"only {self.left} left of {len(self)}", ended=True)

    def peek(self) -> bytes:
        """Return the next word without reading it; empty at the end."""
        return self._words[self.at] if self.left else b""

    def word(self, what: str) -> bytes:
        """Read the next word."""
        self.need(1, what)
        self.at += 1
        return self._words[self.at - 1]

    def words(self, count: int, what: str) -> list[bytes]:
        """Read the next `count` words."""
        self.need(count, what)
        self.at += count
        return self._words[self.at - count : self.at]

    def literal(self, expected: bytes, what: str) -> None:
        """Read the next word, which must be `expected`."""
        word = self.word(what)
        if word != expected:
            self.fail(f"the word {shown(expected)} of {what}", shown(word))

    def integer(self, what: str, low: int = 0, high: int | None = None) -> int:
        """Read an integer in [low, high], written without point or exponent."""
        word = self.word(what)
        value = plain_integer(word)
        if value is None:
            self.fail(f"{what}, an integer", shown(word))
        if value < low or (high is not None and value > high):
            limits = f"{low}" if low == high else f"at least {low}" if high is None else f"{low} to {high}"
            self.fail(f"{what}, an integer, {limits}", shown(word))
        return value

    def dimension(self, what: str) -> int:
        """Read a size, which cannot exceed the number of words, as each size is the length of some vector."""
        value = self.integer(what)
        if value > len(self):
            content = f"{value} in a file of {len(self)} words"
            raise Misread(self.at - 1, f"{what}, not more than the file has words", content, ended=True)
        return value

    def integers(self, count: int, what: str) -> IntArray:
        """Read `count` non-negative integers, shape (count,)."""
        start = self.at
        return self.to_integers(self.words(count, what), what, lambda k: start + k)

    def reals(self, count: int, what: str) -> Array:
        """Read `count` numbers, shape (count,); NaN and inf are accepted here and checked later."""
        start = self.at
        return self.to_reals(self.words(count, what), what, lambda k: start + k)

    def to_integers(
        self, words: list[bytes], what: str, place: Callable[[int], int], below: int | None = None
    ) -> IntArray:
        """Convert words to integers from 0 to below `below`; place(k): index of the k-th word in the file."""
        if not all(map(bytes.isdigit, words)) or max(map(len, words), default=0) > DIGITS:
            k = next(k for k, word in enumerate(words) if not word.isdigit() or len(word) > DIGITS)
            self.fail(f"{what}, an integer that is not negative", shown(words[k]), place(k))
        values = np.fromiter(map(int, words), np.int64, len(words))
        if below is not None and (values >= below).any():
            k = int(np.argmax(values >= below))
            self.fail(f"{what}, an integer below {below}", shown(words[k]), place(k))
        return values

    def to_reals(self, words: list[bytes], what: str, place: Callable[[int], int]) -> Array:
        """Convert words to numbers; place(k): index of the k-th word in the file."""
        try:
            if self._underscored and any(b"_" in word for word in words):
                raise ValueError
            return np.fromiter(map(float, words), np.float64, len(words))
        except ValueError:
            k = next(k for k, word in enumerate(words) if not is_number(word))
        self.fail(f"{what}, a number", shown(words[k]), place(k))

    def rest(self) -> str:
        """Return the remaining text, unchanged."""
        if not self.left:
            return ""
        return self._tail(self.at).decode("utf-8", "backslashreplace").strip()

    def place(self, token: int) -> str:
        """Describe the position of a word: "line 3, word 17", both counted from 1."""
        if token >= len(self):
            return f"end of file, after word {len(self)}"
        before = len(self._data) - len(self._tail(token))
        line = self._data.count(b"\n", 0, before) + 1
        return f"line {line}, word {token + 1}"

    def _tail(self, token: int) -> bytes:
        return self._data.split(None, token)[-1]


def plain_integer(word: bytes) -> int | None:
    """Convert a word of digits with at most one sign to an integer; None for others."""
    digits = word[1:] if word[:1] in (b"+", b"-") else word
    return int(word) if digits.isdigit() and len(digits) <= DIGITS else None


def is_number(word: bytes) -> bool:
    """Whether `word` is a decimal number (nan and inf are)."""
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word
