"""The section `precision` of a specification: the rows of the precision contract that are required."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from verifygate.base.errors import UsageError
from verifygate.config.documents import Document
from verifygate.model.precision_contract import OF_CODE, Aspect

OWN_CODE, NOBODY = "own code", "nobody"
DRIVERS = {
    OWN_CODE: "own code:",
    NOBODY: "nobody:",
    "Lightning": "Lightning ",
    "Accelerate": "Accelerate",
    "Hugging Face Trainer": "Hugging Face Trainer",
    "FSDP": "FSDP ",
    "DeepSpeed": "DeepSpeed ",
    "torchtitan": "torchtitan",
    "Transformer Engine": "Transformer Engine",
    "torchao": "torchao ",
    "apex": "apex",
}
"""Driver as a specification names it -> how its name in the contract begins."""
NONE, DYNAMIC, STATIC = "none", "dynamic", "static"
SCALER_STATE = "scaler state"
DTYPES = ("float64", "float32", "bfloat16", "float16", "float8")
BITS = ("8 bits", "4 bits")
_ALIASES = {
    other: dtype
    for dtype, others in {
        "float64": ("fp64", "double", "64"),
        "float32": ("fp32", "float", "32", "tf32"),
        "bfloat16": ("bf16",),
        "float16": ("fp16", "half", "16"),
        "float8": ("fp8",),
        "8 bits": ("8bit",),
        "4 bits": ("4bit",),
    }.items()
    for other in others
}
"""Other words for a dtype; a specification writes torch's."""


def words_of(aspect: Aspect) -> tuple[str, ...]:
    """What a row may say."""
    if aspect is Aspect.DRIVER:
        return tuple(DRIVERS)
    if aspect is Aspect.LOSS_SCALE:
        return NONE, DYNAMIC, STATIC
    if aspect is Aspect.CHECKPOINT:
        return (SCALER_STATE,)
    return (*DTYPES, *BITS) if aspect in (Aspect.WEIGHTS, Aspect.OPTIMIZER_STATE) else DTYPES


def asked_precision(document: Document, section: Mapping[str, Any]) -> dict[Aspect, tuple[str, ...]]:
    """The rows of the section. Raises UsageError, with its line, for a row or a word that there is none of."""
    found: dict[Aspect, tuple[str, ...]] = {}
    for key, value in section.items():
        where = document.place(("precision", key))
        aspect = _aspect(key, where)
        if aspect in found:
            raise UsageError(f"`precision` has the row `{aspect.value}` twice", where=where, remedy="keep one")
        found[aspect] = tuple(dict.fromkeys(_words(aspect, value, where)))
    return found


def lines_of(document: Document, section: Mapping[str, Any]) -> dict[Aspect, int]:
    """The line of each row."""
    return {_aspect(key, ""): document.lines.get(("precision", key), 1) for key in section}


def _aspect(key: str, where: str) -> Aspect:
    """The aspect of a row. TOML's bare keys have no spaces: `loss_scale` is `loss scale`."""
    known = {aspect.value: aspect for aspect in OF_CODE}
    name = key.replace("_", " ")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        raise UsageError(
            f"`precision` has no row `{key}`",
            where=where,
            remedy=f"did you mean `{near[0]}`?" if near else f"write one of {', '.join(known)}",
        )
    return known[name]


def _words(aspect: Aspect, value: object, where: str) -> Iterator[str]:
    known = words_of(aspect)
    given = value if isinstance(value, list) else [value]
    if not given:
        raise UsageError(
            f"the row `{aspect.value}` says nothing",
            where=where,
            remedy=f"write one of {', '.join(known)}, or remove it",
        )
    for each in given:
        text = str(each)
        if text in known:
            yield text
            continue
        meant = _ALIASES.get(text.lower().removeprefix("torch.").replace("-", "").replace("_", ""), text)
        near = [meant] if meant in known else difflib.get_close_matches(text, known, n=1, cutoff=0.6)
        shown = "nothing" if each is None else f"`{text}`"
        raise UsageError(
            f"the row `{aspect.value}` is {shown}, which is no value of it",
            where=where,
            remedy=f"did you mean `{near[0]}`?" if near else f"write one of {', '.join(known)}, or a list of them",
        )
