"""Words by which a precision is named: what they mean for a framework's switch."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.configured_precision.setting import (
    ACCELERATE,
    BFLOAT16,
    DEEPSPEED,
    FLOAT16,
    FLOAT32,
    HUGGING_FACE,
    LIGHTNING,
    dtype_of,
)
from verifygate.model.precision_contract import Aspect

NO_SCALE = "none"
SCALERS = {
    LIGHTNING: "Lightning's GradScaler",
    ACCELERATE: "Accelerate's GradScaler",
    HUGGING_FACE: "the Trainer's GradScaler, through Accelerate",
    DEEPSPEED: "DeepSpeed's own, dynamic unless `loss_scale` says another",
}


def meaning(framework: str, word: str) -> Iterator[tuple[Aspect, str]]:
    """What a framework makes of a precision: `16-mixed`, `bf16-true`, `fp16`; nothing of a word that is not known."""
    text = word.lower()
    if text in ("transformer-engine", "transformer-engine-float16", "fp8"):
        yield Aspect.COMPUTE, "float8"
        if framework == LIGHTNING:  # it casts the module as well
            yield Aspect.WEIGHTS, FLOAT16 if text.endswith(FLOAT16) else BFLOAT16
        return
    dtype = FLOAT32 if text in ("no", "none", "false", "32", "32-true", "") else dtype_of(text)
    if text in ("64", "64-true"):
        dtype = "float64"
    if not dtype:
        return
    yield Aspect.COMPUTE, dtype
    if text.endswith("-true") and dtype != FLOAT32:
        yield Aspect.WEIGHTS, dtype
    elif framework == DEEPSPEED and dtype in (FLOAT16, BFLOAT16):
        yield Aspect.WEIGHTS, f"{dtype}, with a float32 master copy that DeepSpeed keeps"
    if dtype == FLOAT16 and not text.endswith("-true"):
        yield Aspect.LOSS_SCALE, SCALERS[framework]
    else:
        yield Aspect.LOSS_SCALE, NO_SCALE
