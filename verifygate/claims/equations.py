"""Calculations that are written out: `25 + 20 + 5 = 50`, `0.4 × 85 = 34`, `18 / 20 = 90%`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import Document, Sentence
from verifygate.claims.numbers import ABOUT, NUMBER, Interval, Printed, printed, shown
from verifygate.model.claims import ClaimKind, ClaimVerdict

_UNIT = r"(?:\s?(?:%|points?\b|pts?\b|x(?![\w])))?"
_OPERAND = rf"\(*\s*[~$€]?{NUMBER}{_UNIT}\s*\)*"
_OPERATOR = r"(?:\s*[+*×·÷/]\s*|\s+[-−–x]\s+)"
EQUATION = re.compile(
    rf"(?P<expression>{_OPERAND}(?:{_OPERATOR}{_OPERAND})+)\s*(?:=|≈|≅)\s*"
    rf"(?P<result>(?:{ABOUT})?\s?[$€]?[-−]?{NUMBER})(?P<unit>\s?%)?(?P<after>.?)",
    re.IGNORECASE,
)
_TOKEN = re.compile(rf"(?P<number>{NUMBER})(?P<unit>{_UNIT})|(?P<sign>[()+*×·÷/xX−–-])")
_NOT_BEFORE = re.compile(r"[\w)\]^=<>+*×·÷/−–\-.%]\s*$")
_WORD_BEFORE = re.compile(r"(?:^|\s)[A-Za-z]{2,}[:.]?\s+$")
_OF_A_MISTAKE = re.compile(
    r"\b(?:wrong\w*|incorrect\w*|mistak\w*|instead|should|actual\w*|bug\w*|error|reported|claim\w*|n't|not|mod)\b",
    re.IGNORECASE,
)
_PLAIN = frozenset({"", "text", "txt", "markdown", "md", "plaintext"})


def extract(document: Document, ledger: Ledger) -> None:
    for sentence in document.sentences:
        for match in EQUATION.finditer(sentence.text):
            _judge(ledger, sentence.on(sentence.line_of(match.start())), match, sentence.text)
    for block in document.blocks:
        if block.language in _PLAIN and block.before is not None:
            for number, line in enumerate(block.lines):
                for match in EQUATION.finditer(line):
                    _judge(ledger, block.before.on(block.line + number), match, line)


def _judge(ledger: Ledger, sentence: Sentence, match: re.Match[str], text: str) -> None:
    start = match.start() + len(match["expression"]) - len(match["expression"].lstrip())
    before, result = text[:start], printed(re.sub(r"[$€]", "", match["result"]).replace("−", "-"))
    begins_inside = _NOT_BEFORE.search(before) and not _WORD_BEFORE.search(before)
    goes_on = re.match(r"[\w/^]", match["after"]) or re.match(
        r"\s*(?:[+*×·÷/]|[-−–x]\s)\s*[\d(]", text[match.end("result") + len(match["unit"] or "") :]
    )
    if result is None or begins_inside or goes_on:
        return
    exact = [
        value for percent in (False, True) if (value := evaluate(match["expression"], percent=percent)) is not None
    ]
    if not exact:
        return
    rounded = [
        value for percent in (False, True) if (value := evaluate(match["expression"], percent=percent, slack=True))
    ]
    aims = [result.rounded]
    if match["unit"]:
        aims.append(Printed(result.value / 100, result.step / 100, result.about).rounded)
    words, stated = (
        match["expression"].strip() + " = " + match["result"].strip() + (match["unit"] or "").strip(),
        match["result"].strip(),
    )
    middle = exact[0].middle
    found = f"it is {shown(middle * 100 if match['unit'] and middle <= 1 < result.value else middle)}"
    if any(reading.meets(aim) for reading in exact for aim in aims):
        verdict, reason = ClaimVerdict.CONFIRMED, "the calculation is right"
    elif any(reading.meets(aim) for reading in rounded for aim in aims):
        verdict, reason = ClaimVerdict.INCONCLUSIVE, f"{found}, not {stated}; its numbers may have been rounded before"
    elif _OF_A_MISTAKE.search(before):
        verdict, reason = ClaimVerdict.INCONCLUSIVE, f"{found}, not {stated}; the sentence may speak of a mistake"
    else:
        verdict, reason = ClaimVerdict.REFUTED, f"{found}, not {stated}"
    ledger.add(sentence, ClaimKind.EQUATION, verdict, reason, words=words)


def evaluate(expression: str, *, percent: bool, slack: bool = False) -> Interval | None:
    """The value of an expression of printed numbers; with `percent`, `40%` is 0.4. None where it is none.

    `slack`: a decimal number above 1 may have been rounded; below 1 it is a weight, and exact.
    """
    tokens: list[str | Interval] = []
    for token in _TOKEN.finditer(expression):
        number = printed(token["number"]) if token["number"] else None
        if number is not None:
            share = Interval.exactly(Fraction(1, 100) if percent and "%" in token["unit"] else 1)
            value = number.interval if slack and number.value > 1 else Interval.exactly(number.value)
            tokens.append(value * share)
        else:
            tokens.append(token["sign"].lower())
    reader = _Expression(tokens)
    try:
        value = reader.sum()
    except (ZeroDivisionError, ValueError):
        return None
    return value if reader.position == len(tokens) else None


class _Expression:
    """Sums of products, with brackets."""

    def __init__(self, tokens: Sequence[str | Interval]) -> None:
        self.tokens = tokens
        self.position = 0

    def sum(self) -> Interval:
        value = self._product()
        while (sign := self._next("+-−–")) is not None:
            right = self._product()
            value = value + right if sign == "+" else value - right
        return value

    def _product(self) -> Interval:
        value = self._operand()
        while (sign := self._next("*×·x÷/")) is not None:
            right = self._operand()
            value = value / right if sign in "÷/" else value * right
        return value

    def _operand(self) -> Interval:
        if self._next("(") is not None:
            value = self.sum()
            if self._next(")") is None:
                raise ValueError
            return value
        if self.position < len(self.tokens) and isinstance(token := self.tokens[self.position], Interval):
            self.position += 1
            return token
        raise ValueError

    def _next(self, signs: str) -> str | None:
        if self.position < len(self.tokens):
            token = self.tokens[self.position]
            if isinstance(token, str) and token in signs:
                self.position += 1
                return token
        return None
