"""One setting of a configuration: what it is about, what it says, and where it stands."""

from __future__ import annotations

import re

from verifygate.base.records import record

LIGHTNING = "Lightning"
ACCELERATE = "Accelerate"
DEEPSPEED = "DeepSpeed"
HUGGING_FACE = "Hugging Face Trainer"
TORCHTITAN = "torchtitan"
OWN = ""
"""A key of the project itself: what reads it is in its code."""

FLOAT16, BFLOAT16, FLOAT32 = "float16", "bfloat16", "float32"

_SWITCHES = {
    "fp16": FLOAT16,
    "float16": FLOAT16,
    "fp16_full_eval": FLOAT16,
    "amp": FLOAT16,
    "bf16": BFLOAT16,
    "bfloat16": BFLOAT16,
    "bf16_full_eval": BFLOAT16,
    "pure_bf16": BFLOAT16,
}
"""Keys that switch a precision on -> its dtype."""
_WORD = re.compile(
    r"(?P<b>bf16|bfloat16)|(?P<h>fp16|float16|half|(?<![\d.])16(?![\d.]))"
    r"|(?P<f>fp32|float32|tf32|(?<![\d.])32(?![\d.])|^no$|^none$)"
)


@record(kw_only=True)
class Setting:
    """What one line of a configuration sets. It is a location too: a finding may stand at it."""

    framework: str
    """Who reads it."""
    aspect: str
    """`driver` (a table of one without a precision), `precision` (the switch), `weights`, `compute`, `reduction`,
    `loss scale`, `clip`, `evaluation`, `fp8`."""
    key: str
    value: str
    path: str
    line: int
    reach: str = ""
    """Which code names the file; empty where none does."""
    programs: tuple[str, ...] = ()
    """The sources that name the file, or that the script with it starts."""

    @property
    def end_line(self) -> int:
        return self.line

    @property
    def column(self) -> int:
        return 1

    @property
    def is_interpolated(self) -> bool:
        """Whether the value is composed elsewhere: `${trainer.precision}`, `???`, `auto`."""
        return "$" in self.value or "{{" in self.value or self.value in ("???", "auto")

    @property
    def is_off(self) -> bool:
        return self.value.lower() in ("", "no", "none", "null", "false", "off")

    @property
    def switch(self) -> str:
        """`fp16` of `fp16: true` and of `fp16.enabled: true`; empty for a key whose value names the precision."""
        last = self.key.removesuffix(".enabled").rpartition(".")[2]
        return last if last in _SWITCHES else ""

    @property
    def dtype(self) -> str:
        """The dtype that products are computed in where it holds; empty where that cannot be told."""
        if self.is_interpolated or self.aspect in ("clip", "loss scale", "file"):
            return ""
        if self.switch:
            return "" if self.is_off else _SWITCHES[self.switch]
        return dtype_of(self.value)

    @property
    def scales(self) -> bool | None:
        """Whether the framework multiplies the loss by a scale then; None where that cannot be told."""
        if self.is_interpolated or self.aspect != "precision":
            return None
        if self.is_off:
            return False
        dtype = self.dtype
        if not dtype:
            return None
        return dtype == FLOAT16 and not self.value.lower().endswith("-true")


def dtype_of(text: str) -> str:
    """The dtype that a word for a precision stands for: `16-mixed`, `bf16`, `torch.float16`, `no`."""
    words = [hit.lastgroup for hit in _WORD.finditer(text.lower())]
    for group, dtype in (("b", BFLOAT16), ("h", FLOAT16), ("f", FLOAT32)):
        if group in words:
            return dtype
    return ""
