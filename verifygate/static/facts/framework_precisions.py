"""Which precision a framework was given, by which calls of the code and by which settings of its files."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from enum import StrEnum

from verifygate.base.records import record
from verifygate.configured_precision.setting import BFLOAT16, FLOAT16, FLOAT32, Setting
from verifygate.framework_names import Framework
from verifygate.static.symbols.location import Location
from verifygate.static.values.domain import Frame


class Precision(StrEnum):
    """What a framework computes in."""

    FLOAT16 = "fp16 autocast with a GradScaler"
    TRUE_FLOAT16 = "fp16 weights without a scaler"
    BFLOAT16 = "bf16"
    TRUE_BFLOAT16 = "bf16 weights"
    FLOAT32 = "fp32"
    OTHER = "other"


PRECISIONS: dict[object, Precision] = {
    **dict.fromkeys(("fp16", "16-mixed", "16", 16), Precision.FLOAT16),
    "16-true": Precision.TRUE_FLOAT16,
    **dict.fromkeys(("bf16", "bf16-mixed"), Precision.BFLOAT16),
    "bf16-true": Precision.TRUE_BFLOAT16,
    **dict.fromkeys(("no", "32", 32, "32-true", "64", 64, "64-true"), Precision.FLOAT32),
}
Precisions = frozenset[Precision] | None
"""Those that a call may come to; None where nothing in sight says."""


@record(eq=False)
class Instance:
    """A call that gives a framework its precision."""

    framework: Framework
    place: Location
    frame: Frame
    precisions: Precisions
    settings: tuple[Setting, ...] = ()
    """The settings in files that say it, where the call leaves it to them."""

    @property
    def call(self) -> ast.Call:
        return self.place.node  # type: ignore[return-value]

    def given(self, keyword: str) -> ast.expr | None:
        return next((word.value for word in self.call.keywords if word.arg == keyword), None)


@record(eq=False)
class Handle:
    """An object of a framework, with the calls that may have given it the precision."""

    framework: Framework
    instances: tuple[Instance, ...]
    followed: bool
    """Whether it is one of these calls' for sure, and not of another in the same program."""
    configured: tuple[Setting, ...] = ()
    """The settings in files that say the precision, where no call is in sight."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings in files that say the precision, where no call does."""
        return (*self.configured, *(setting for each in self.instances for setting in each.settings))

    @property
    def precisions(self) -> Precisions:
        if not self.instances:
            return configured(self.configured)
        found: set[Precision] = set()
        for each in self.instances:
            if each.precisions is None:
                return None
            found |= each.precisions
        return frozenset(found) or None

    def is_surely(self, *precisions: Precision) -> bool:
        """Whether it was followed to a call that gives it one of these; a file of settings can be overridden."""
        return (
            self.followed and not self.settings and self.precisions is not None and self.precisions <= set(precisions)
        )

    def may_be(self, *precisions: Precision) -> bool | None:
        """Whether it may compute in one of these; None where nothing in sight says."""
        if any(each.precisions and not each.precisions.isdisjoint(precisions) for each in self.instances):
            return True
        if self.precisions is None:
            return None
        return not self.precisions.isdisjoint(precisions)

    @property
    def scales(self) -> bool | None:
        """Whether it has a live GradScaler; None where nothing in sight says."""
        return self.may_be(Precision.FLOAT16)

    @property
    def place(self) -> Location | None:
        return self.instances[0].place if self.instances else None


def configured(settings: Iterable[Setting]) -> Precisions:
    """The precisions that settings of files come to; None where one of them does not say."""
    found = [_of_setting(each) for each in settings]
    return frozenset(each for each in found if each is not None) if found and None not in found else None


def _of_setting(setting: Setting) -> Precision | None:
    if setting.scales:
        return Precision.FLOAT16
    if setting.is_off:
        return Precision.FLOAT32
    of_dtype = {FLOAT16: Precision.TRUE_FLOAT16, BFLOAT16: Precision.BFLOAT16, FLOAT32: Precision.FLOAT32}
    return of_dtype.get(setting.dtype)
