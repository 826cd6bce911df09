"""The optimizers that a framework steps: what a LightningModule builds for itself, and what Fabric sets up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.framework_names import FABRIC, LIGHTNING
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import ExternalResult, Frame, Values

WORDS = ("def configure_optimizers(", "Fabric(")
"""What a file names that has one."""
_ENGINE = "deepspeed"


@record(eq=False)
class FrameworkOptimizer:
    """The call that builds one, and the framework that steps it."""

    name: str
    """Its class, qualified."""
    call: ast.Call
    frame: Frame
    handle: Handle

    @property
    def may_have_master_weights(self) -> bool:
        """Whether the framework was given a strategy that may keep float32 copies of half weights."""
        strategies = [each.given("strategy") for each in self.handle.instances]
        return not strategies or any(given is not None and not _is_plain(given) for given in strategies)

    @property
    def has_master_weights(self) -> bool:
        """Whether it was given DeepSpeed's, which does."""
        strategies = [each.given("strategy") for each in self.handle.instances]
        return any(given is not None and _ENGINE in ast.unparse(given).lower() for given in strategies)


def framework_optimizers(analysis: Analysis) -> Iterator[FrameworkOptimizer]:
    """Those of the picked modules."""
    for function in analysis.functions:
        if function.name == "configure_optimizers" and function.owner is not None:
            handle = analysis.frameworks.running(function)
            if handle is not None and handle.framework is LIGHTNING:
                frame = analysis.evaluator.root_frame(function)
                for call in function.calls:
                    values = analysis.evaluator.values(call, frame) if last_name(call.func)[:1].isupper() else ()
                    yield from _built(values, handle)
        elif function.module.mentions(b"Fabric"):
            yield from _set_up(function.calls, analysis.evaluator.root_frame(function), analysis)


def _set_up(calls: list[ast.Call], frame: Frame, analysis: Analysis) -> Iterator[FrameworkOptimizer]:
    """Those that `fabric.setup(...)` is given."""
    for call in calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in FABRIC.wraps:
            continue
        handle = analysis.frameworks.handle(call.func.value, frame)
        if handle is not None and handle.framework is FABRIC:
            for given in call.args:
                yield from _built(analysis.frameworks.values_at(given, frame), handle)


def _built(values: Values, handle: Handle) -> Iterator[FrameworkOptimizer]:
    for value in values:
        if isinstance(value, ExternalResult) and value.name.startswith("torch.optim.") and value.calls:
            yield FrameworkOptimizer(value.name, *value.calls[-1], handle)


def _is_plain(given: ast.expr) -> bool:
    """Whether a strategy is one by a word that keeps the parameters as they are."""
    return isinstance(given, ast.Constant) and isinstance(given.value, str) and given.value.startswith(("auto", "ddp"))
