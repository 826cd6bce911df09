"""Find where audited code asks for float16 with a loss scale: by a scaler of its own, or by a framework's setting."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifygate.model import Place
from verifygate.sources.file import SourceFile, SourceUnreadableError
from verifygate.sources.tree import Sources

_ASKS = re.compile(
    rb"\b(?:Sharded)?GradScaler\((?!(?:[^()]|\([^()]*\))*\benabled[ \t]*=[ \t]*False)"
    rb"|\bfp16[ \t]*=[ \t]*True\b"
    rb"|\bprecision[ \t]*=[ \t]*(?:16\b|(?P<lightning>[\"'])16(?:-mixed)?(?P=lightning))"
    rb"|\bmixed_precision[ \t]*=[ \t]*(?P<accelerate>[\"'])fp16(?P=accelerate)"
    rb"|\bMixedPrecision(?:Policy)?\((?:[^()]|\([^()]*\))*\bparam_dtype[ \t]*=[ \t]*(?:torch\.)?(?:float16|half)\b"
)
"""A scaler that may be live, the settings by which Lightning, Accelerate and Hugging Face make one, and policies of
sharding in float16, which need one."""


def asked_float16(sources: Sources) -> tuple[Place, ...]:
    """The first line of each audited file, tests left out, at which float16 with a loss scale is asked for."""
    return tuple(place for file in sources if not file.is_test for place in _first(file))


def _first(file: SourceFile) -> Iterator[Place]:
    hit = next((hit for hit in _ASKS.finditer(file.data) if file.is_code(hit.start())), None)
    if hit is None:
        return
    line = file.data.count(b"\n", 0, hit.start()) + 1
    try:
        text = file.lines[line - 1].strip()
    except SourceUnreadableError:
        text = ""
    yield Place(path=file.path, line=line, end_line=line, text=text)
