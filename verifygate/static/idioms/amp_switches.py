"""AMP switches: settings that turn AMP on and off, matched by their words (`args.use_fp16`, `self.fp16`)."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from verifygate.static.values.domain import Bound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verifygate.sources.file import SourceFile
    from verifygate.static.facts.condition_texts import ConditionTexts

SCALERS = frozenset({"scaler", "scalar"})
SPEAK_OF_PRECISION = SCALERS | frozenset("amp fp half mixed precision float autocast scaling scale 16".split())  # noqa: SIM905
_FOR_SCALERS = SCALERS | {"scale", "scaling"}
"""A setting with such a word is for the scaler alone: off beside bfloat16, for one."""
_WORD = r"[a-z]+|\d+"
_EMPTY_WORDS = frozenset(
    """self args arg cfg config conf opt opts hps params settings
    train training trainer model use enable enabled is with
    torch not and or in if else none true false get bool str int""".split()  # noqa: SIM905
)


def words_of(text: str) -> set[str]:
    """The words of source text, with those of names taken apart, but for such as say nothing."""
    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    return set(re.findall(_WORD, split)) - _EMPTY_WORDS


def speak_of_precision(*settings: set[str]) -> bool:
    """Whether the words of each do: a flag without a word in common may still be the same flag."""
    return all(words & SPEAK_OF_PRECISION for words in settings)


def of_one_object(
    scalers: Bound | None, regions: Bound, files: Iterable[SourceFile], texts: ConditionTexts
) -> tuple[set[str], set[str]] | None:
    """The words of two settings of one object, without those of the object: `args.fp16` and `args.amp`.

    None where they are none, where a line of the files gives the one what the other is, or where the first is for
    scalers alone.
    """
    if scalers is None or not isinstance(scalers.expr, ast.Attribute) or not isinstance(regions.expr, ast.Attribute):
        return None
    holders = [(each.expr.value, each.frame) for each in (scalers, regions)]  # type: ignore[attr-defined]
    same_text = len({ast.unparse(holder) for holder, _ in holders}) == 1
    if not same_text and len({texts.roles.path(*each) for each in holders}) > 1:
        return None
    one, other = scalers.expr.attr, regions.expr.attr
    in_step = rf"\b(?:{one}\W*=(?!=).*\b{other}|{other}\W*=(?!=).*\b{one})\b".encode()
    if any(re.search(in_step, file.data) for file in files):
        return None
    ours, theirs = _own_words(scalers, texts), _own_words(regions, texts)
    return None if ours & _FOR_SCALERS else (ours, theirs)


def _own_words(setting: Bound, texts: ConditionTexts) -> set[str]:
    """The words of an attribute and of what it was given, but for those of the object that has it."""
    expr = setting.expr
    assert isinstance(expr, ast.Attribute)  # noqa: S101 - asked before
    _, *given = texts.with_definitions(expr, setting.frame).split(" ; ")
    of_the_object = texts.with_definitions(expr.value, setting.frame).split(" ; ")
    return words_of(" ; ".join([expr.attr, *(each for each in given if each not in of_the_object)]))
