"""Find where float16 with a loss scale is asked for: by a scaler of the project's own, by what a framework is told in
the code, or by a configuration alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifygate.configured_precision.options import default_settings
from verifygate.configured_precision.read import ConfiguredPrecision
from verifygate.configured_precision.setting import ACCELERATE, DEEPSPEED, HUGGING_FACE, LIGHTNING, OWN, Setting
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
_TAKES = {
    LIGHTNING: re.compile(rb"\b(?:Trainer|Fabric|LightningCLI)\("),
    ACCELERATE: re.compile(rb"\bAccelerator\("),
    HUGGING_FACE: re.compile(rb"\b(?:\w*TrainingArguments|HfArgumentParser|TrlParser)\b"),
    DEEPSPEED: re.compile(rb"\bdeepspeed\.initialize\(|\bTrainingArguments\b|\bAccelerator\("),
}
"""What a source has that takes its precision from a framework."""
_WRITTEN_OUT = {
    LIGHTNING: re.compile(rb"\bprecision[ \t]*=[ \t]*[\"'\d]"),
    ACCELERATE: re.compile(rb"\bmixed_precision[ \t]*=[ \t]*[\"']"),
    HUGGING_FACE: re.compile(rb"\b(?:fp16|bf16)[ \t]*=[ \t]*(?:True|False)\b"),
}
"""A precision in the code, which a configuration has no say in."""


def asked_float16(sources: Sources) -> tuple[Place, ...]:
    """Where audited code, tests left out, asks for float16 with a loss scale: the first line of each file; then the
    lines by which a configuration does so for code that leaves its precision open."""
    programs = [file for file in sources if not file.is_test]
    in_code = [place for file in programs for place in _first(file)]
    by_default = (setting for file in programs for setting in default_settings(file) if setting.scales)
    settings = dict.fromkeys((*by_default, *_configured(sources, programs)))
    return tuple(dict.fromkeys((*in_code, *(_place(each.path, each.line, sources) for each in settings))))


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


def _place(path: str, line: int, sources: Sources) -> Place:
    return Place(path=path, line=line, end_line=line, text=sources.line(path, line))


def _configured(sources: Sources, programs: list[SourceFile]) -> Iterator[Setting]:
    """The settings of files by which a program trains in float16: of those that it names; else of those that nothing
    names beside it, where none of them says another precision."""
    configuration = ConfiguredPrecision(sources)
    frameworks = {each.framework for each in configuration.settings if each.scales} - {OWN}
    for file in programs:
        for framework in sorted(frameworks):
            told = [
                each for each in configuration.of(framework, file.path, (file.path,))
                if each.aspect == "precision" and not (each.is_off and each.switch)
            ]  # fmt: skip
            is_named = any(each.programs for each in told)
            if _is_open(file, framework, is_named) and (is_named or all(each.scales for each in told)):
                yield from (each for each in told if each.scales)


def _is_open(file: SourceFile, framework: str, is_named: bool) -> bool:
    """Whether a source takes a precision that its code does not write out; one that names the file may hand it on."""
    written = _WRITTEN_OUT.get(framework)
    if written is not None and any(file.is_code(hit.start()) for hit in written.finditer(file.data)):
        return False
    takes = _TAKES.get(framework)
    return is_named or (takes is not None and any(file.is_code(hit.start()) for hit in takes.finditer(file.data)))
