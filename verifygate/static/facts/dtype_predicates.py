"""What a branch condition says of the dtype, by its text: `dtype == "bf16"` requires bfloat16, `use_amp` says nothing.

A text is a condition, perhaps with the definitions of its names behind it, each after a semicolon
(`use_bf16 ; args.dtype == "bf16"`); most predicates read the condition alone. Beside the text goes whether the
condition holds or fails on the branch at hand.
"""

from __future__ import annotations

import ast
import re

_SPEAKS_OF_DTYPE = r"(?i)b?f(?:loat|p)?_?16|half|dtype|precision|mixed"
_BFLOAT = r"(?i)bf(?:loat)?_?16"
_FLOAT = r"(?i)(?<![bB])(?:float|fp|f)_?16|half|(?<=['\"])16(?!\d)"
_AMONG_OTHERS = re.compile(rf"(?<!not )\bin [\[({{][^\])}}]*{_BFLOAT.removeprefix('(?i)')}", re.IGNORECASE)
_IS_FLOAT32 = re.compile(
    r"""^[\w.\[\]'"]+ (?:(!=|==) ['"]?(?:torch\.)?(?:float32|fp32|f32|32|no|none)['"]?|(is not|is) none)$""",
    re.IGNORECASE,
)


def mentions_dtype(text: str) -> bool:
    """Whether a condition, or a definition behind it, says anything of the dtype."""
    return bool(re.search(_SPEAKS_OF_DTYPE, text))


def requires_bfloat16(text: str, holds: bool) -> bool:
    """Whether a condition that holds names bfloat16 and not float16: `dtype == "bf16"`."""
    first = condition_of(text)
    negated = "not " in first or "!=" in first
    return holds and not negated and bool(re.search(_BFLOAT, first)) and not re.search(_FLOAT, first)


def requires_float16(text: str, holds: bool) -> bool:
    """Whether a condition that holds names float16 and not bfloat16: `args.fp16`."""
    first = condition_of(text)
    return holds and bool(re.search(_FLOAT, first)) and not re.search(_BFLOAT, first)


def offers_bfloat16(text: str, holds: bool) -> bool:
    """Whether a condition that holds is an `or` of float16 and bfloat16: `use_fp16 or use_bf16`."""
    parts = condition_of(text).split(" or ")
    halves = [bool(re.search(_BFLOAT, part)) for part in parts if not re.search(r"\bnot |!=", part)]
    others = [bool(re.search(_FLOAT, part)) for part in parts if not re.search(_BFLOAT, part)]
    return holds and any(halves) and any(others)


def allows_bfloat16(text: str, holds: bool) -> bool:
    """Whether a condition names bfloat16 among others, `in ("float16", "bfloat16")`, or rules out float32 alone."""
    first = condition_of(text)
    is_float32 = _IS_FLOAT32.search(first) if mentions_dtype(first) else None
    return (holds and bool(_AMONG_OTHERS.search(first))) or (
        is_float32 is not None and ((is_float32[1] or is_float32[2]) in ("!=", "is not")) is holds
    )


def excludes_bfloat16(test: ast.expr, holds: bool) -> bool:
    """Whether a comparison that holds, or fails, leaves no bfloat16: `dtype == torch.bfloat16` that fails."""
    match test:
        case ast.Compare(ops=[ast.NotEq() | ast.IsNot() | ast.NotIn()]):
            holds = not holds
    text = ast.unparse(test)
    return bool(re.search(_FLOAT if holds else _BFLOAT, text)) and not re.search(_BFLOAT if holds else _FLOAT, text)


def condition_of(text: str) -> str:
    """The condition itself, without the definitions behind it."""
    return text.partition(" ; ")[0]
