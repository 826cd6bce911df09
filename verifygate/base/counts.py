"""Numbers with their nouns."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 test`, `2 tests`; an irregular plural is given: `2 processes`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
