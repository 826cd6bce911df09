"""Numbers as they are printed: a value, and how far from it the unrounded value may lie.

`62.5` may stand for anything from 62.45 to 62.55, `~2.5` for more; `16` is taken as exact. Sums and ratios of printed
numbers are intervals, so that rounding alone never makes a true statement look false.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,15})(?:\.\d{1,15})?"
ABOUT = r"(?:~|≈|about |around |approx\.? |approximately |roughly |nearly |almost |over |under |more than |less than )"
_PRINTED = re.compile(rf"(?P<about>{ABOUT})?\s?(?P<sign>[-−–+](?=\d))?(?P<digits>{NUMBER})", re.IGNORECASE)
_ROUGH = Fraction(1, 20)
"""How far a number called approximate may be off: 5 %."""


@dataclass(frozen=True)
class Interval:
    """All values that a printed number, or a result of printed numbers, may stand for."""

    low: Fraction
    high: Fraction

    @staticmethod
    def exactly(value: Fraction | int) -> Interval:
        return Interval(Fraction(value), Fraction(value))

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(corners), max(corners))

    def __truediv__(self, other: Interval) -> Interval:
        """Raises ZeroDivisionError where the divisor may be 0."""
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError
        return self * Interval(1 / other.high, 1 / other.low)

    def __abs__(self) -> Interval:
        if self.low >= 0:
            return self
        return Interval(-self.high, -self.low) if self.high <= 0 else Interval(Fraction(0), max(-self.low, self.high))

    @property
    def middle(self) -> Fraction:
        return (self.low + self.high) / 2

    def meets(self, other: Interval) -> bool:
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class Printed:
    """A number with its precision."""

    value: Fraction
    step: Fraction
    """One unit of the last printed place."""
    about: bool = False

    @property
    def interval(self) -> Interval:
        """As an operand: a whole number is exact, a decimal one may have been rounded."""
        slack = self.step / 2 if self.step < 1 else Fraction(0)
        return self._widened(slack)

    @property
    def rounded(self) -> Interval:
        """As a result: rounded, or cut off, at its last place. `19` may be 18.5, and 19.99, but never 20."""
        if self.about:
            return self._widened(self.step)
        up, down = self.step * Fraction(999, 1000), self.step / 2
        return (
            Interval(self.value - down, self.value + up)
            if self.value >= 0
            else Interval(self.value - up, self.value + down)
        )

    def _widened(self, slack: Fraction) -> Interval:
        if self.about:
            slack = max(slack, abs(self.value) * _ROUGH, self.step)
        return Interval(self.value - slack, self.value + slack)


def printed(text: str) -> Printed | None:
    """The number that the text is or begins with."""
    match = _PRINTED.match(text.strip())
    return _from(match) if match else None


def every(text: str) -> Iterator[tuple[re.Match[str], Printed]]:
    for match in _PRINTED.finditer(text):
        yield match, _from(match)


def _from(match: re.Match[str]) -> Printed:
    digits = match["digits"].replace(",", "")
    decimals = len(digits.partition(".")[2])
    value = Fraction(digits)
    negative = match["sign"] in ("-", "−", "–")
    return Printed(-value if negative else value, Fraction(1, 10**decimals), bool(match["about"]))


def total(intervals: Iterable[Interval]) -> Interval:
    return sum(intervals, Interval.exactly(0))


def shown(value: Fraction, places: int = 2) -> str:
    """A fraction as people write it: at most so many places, no zeros at the end."""
    text = f"{float(value):,.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
