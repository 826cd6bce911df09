"""What frameworks do with the precision they are given: only what their own code shows, tested against it.

Handing precision over is a mismatch with a specification that asks for explicit AMP. It is not "no AMP": these
frameworks use torch's own autocast and GradScaler, and the report has to say so.
"""

from __future__ import annotations

from dataclasses import dataclass

_LIGHTNING = (
    "with `16-mixed` (also written `16`) it enters torch.autocast and drives a torch GradScaler of its own",
    "on the CPU it takes `bf16-mixed` in place of `16-mixed`",
    "with `bf16-mixed` it enters torch.autocast and has no scaler",
)
_ACCELERATE = (
    "with `fp16` it enters torch.autocast around the prepared model's forward and drives a torch GradScaler of its own",
    "on the CPU `fp16` is off without a word: no autocast, no scaler, float32",
    "with `bf16` it enters torch.autocast around the prepared model's forward and has no scaler",
)


@dataclass(frozen=True)
class Framework:
    """A framework that takes a precision."""

    name: str
    does: tuple[str, ...] = ()
    """What it does with it, value by value; empty where nobody here has looked."""


FRAMEWORKS = {
    "lightning": Framework("Lightning", _LIGHTNING),
    "pytorch_lightning": Framework("Lightning", _LIGHTNING),
    "lightning_fabric": Framework("Lightning", _LIGHTNING),
    "accelerate": Framework("Accelerate", _ACCELERATE),
    "transformers": Framework("the Trainer of transformers"),
}
"""First part of the qualified name of what takes the precision -> the framework."""
UNNAMED = Framework("a framework")


def framework_of(callee: str) -> Framework:
    """The framework that `lightning.pytorch.Trainer` belongs to."""
    return FRAMEWORKS.get(callee.partition(".")[0], UNNAMED)
