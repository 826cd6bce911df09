"""Gradients are clipped by the code, and by the framework as it is configured.

## What it does
Reports a limit that a framework is given for gradients (`gradient_clip_val` of Lightning's Trainer or in its YAML,
`gradient_clipping` of DeepSpeed), where the code clips the same gradients:

- a LightningModule that optimizes by hand, run by a Trainer with `gradient_clip_val`: Lightning refuses to train;
- a clip in the hook `on_before_optimizer_step`, after which Lightning clips;
- torch's clip between the backward and the step of a DeepSpeed engine that does not train in float16 (there it is
  AMP201).

It is *certain* where the Trainer with the module, or the engine with its configuration, was followed, and *likely*
where a file that code can override says the limit.

## Impact
One of the two limits is without effect, or the run does not start.

## Why is this bad
One of the two limits is not the one that is in force: the smaller one counts. A DeepSpeed engine clips what it has
summed up over micro-batches and processes; a clip before that cuts a part, and with ZeRO there is nothing in `.grad` to
cut.

## What happens at run time
Lightning 2.6 raises MisconfigurationException for a module that optimizes by hand ("Automatic gradient clipping is not
supported for manual optimization"). Otherwise nothing raises.

## Example
```python
import lightning
import torch
from torch.utils.data import DataLoader


class Net(lightning.LightningModule):
    def __init__(self, model, loss_fn):
        super().__init__()
        self.model, self.loss_fn = model, loss_fn
        self.automatic_optimization = False

    def training_step(self, batch, number):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(self.loss_fn(self.model(batch[0]), batch[1]))
        self.clip_gradients(optimizer, gradient_clip_val=1.0)
        optimizer.step()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def train(model, loss_fn, batches, device):
    trainer = lightning.Trainer(accelerator=device, max_epochs=1, logger=False, gradient_clip_val=1.0)
    trainer.fit(Net(model, loss_fn), DataLoader(batches, batch_size=None))
```

## Use instead
```python
import lightning
import torch
from torch.utils.data import DataLoader


class Net(lightning.LightningModule):
    def __init__(self, model, loss_fn):
        super().__init__()
        self.model, self.loss_fn = model, loss_fn
        self.automatic_optimization = False

    def training_step(self, batch, number):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(self.loss_fn(self.model(batch[0]), batch[1]))
        self.clip_gradients(optimizer, gradient_clip_val=1.0)
        optimizer.step()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def train(model, loss_fn, batches, device):
    trainer = lightning.Trainer(accelerator=device, max_epochs=1, logger=False)
    trainer.fit(Net(model, loss_fn), DataLoader(batches, batch_size=None))
```

## Fix safety
No fix: which of the two limits is meant has to be known.

## What it cannot see
Limits that are composed when the program starts, and clips in functions that a hook calls.

## References
- https://lightning.ai/docs/pytorch/stable/model/manual_optimization.html
- https://www.deepspeed.ai/docs/config-json/#gradient-clipping
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.base.records import record
from verifygate.configured_precision import setting as configured
from verifygate.configured_precision.setting import Setting
from verifygate.framework_names import DEEPSPEED, LIGHTNING
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle, Instance
from verifygate.static.idioms.deepspeed_tables import WORDS, Entry, in_files, table_of
from verifygate.static.idioms.framework_loops import Does, GradientCalls
from verifygate.static.rule import ConfigurationMatch, Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import DictLiteral, Literal
from verifygate.torch_names import CLIP_FUNCTIONS

RULE = Rule(
    code="AMP904",
    name="clipped-twice",
    severity=Severity.MEDIUM,
    summary="gradients are clipped by the code, and by the framework as it is configured",
    remedy="give one limit: to the framework, or in the code",
    words=(*WORDS, "on_before_optimizer_step", "automatic_optimization"),
    proof="raised-error",
)
_HOOK = "on_before_optimizer_step"
_CLIPS = CLIP_FUNCTIONS | {"clip_gradients"}


@record
class _Limit:
    """A limit that a framework is given, and where."""

    value: str
    place: Location | Setting
    followed: bool


def check(analysis: Analysis) -> Iterable[Match | ConfigurationMatch]:
    """Modules of Lightning whose gradients are clipped by the Trainer, then engines that clip."""
    for module in analysis.modules:
        if module.file.is_test or not module.mentions(b"automatic_optimization", _HOOK.encode()):
            continue
        for made in module.classes.values():
            if analysis.frameworks.host(made) is LIGHTNING:
                yield from _of_module(made, analysis)
    yield from _of_engines(analysis)


# -- Lightning -------------------------------------------------------------------------------------------------


def _of_module(made: Class, analysis: Analysis) -> Iterator[Match | ConfigurationMatch]:
    by_hand = analysis.frameworks.steps_itself(made)
    hook = made.methods.get(_HOOK)
    clip = next((each for each in hook.calls if last_name(each.func) in _CLIPS), None) if hook is not None else None
    ran = made.methods.get("training_step") if by_hand else hook if clip is not None else None
    handle = analysis.frameworks.running(ran) if ran is not None else None
    if handle is None:
        return
    for limit in _limits_of_lightning(handle, made, analysis):
        if by_hand:
            message = (
                f"the Trainer is to clip by {limit.value}, and `{made.node.name}` optimizes by hand: it will not start"
            )
            place = made.methods.get("training_step")
            shown = ((Location(place, place.node), "optimizes by hand"),) if place is not None else ()
            yield _match(limit, message, shown, certain=limit.followed, severity=Severity.HIGH)
        elif hook is not None and clip is not None:
            own = Location(hook, clip)
            message = f"`{statement_text(own)}` clips what Lightning clips by {limit.value} right after"
            around = analysis.enclosing.conditions(clip, hook)
            steps = ((limit.place, "Lightning's limit"), (own, "the code's"))
            yield Match(own, message, certain=limit.followed and not around, steps=steps)


def _match(
    limit: _Limit, message: str, steps: tuple[tuple[Location | Setting, str], ...], *, certain: bool, severity: Severity
) -> Match | ConfigurationMatch:
    steps = ((limit.place, "the limit"), *steps)
    if isinstance(limit.place, Setting):
        return ConfigurationMatch(limit.place, message, certain, steps, severity=severity)
    return Match(limit.place, message, certain=certain, steps=steps, severity=severity)


def _limits_of_lightning(handle: Handle, made: Class, analysis: Analysis) -> Iterator[_Limit]:
    """What the Trainers that run a module are told, in their calls or, where these leave it open, in a file."""
    path = made.module.path
    for each in handle.instances:
        given = each.given("gradient_clip_val")
        if given is not None:
            values = analysis.evaluator.values(given, each.frame)
            known = [value.value for value in values if isinstance(value, Literal)]
            if len(known) == len(values) == 1 and _is_limit(known[0]):
                yield _Limit(f"{known[0]}", each.place, followed=handle.followed)
        elif any(word.arg is None for word in each.call.keywords):
            yield from _in_files(path, analysis)
    if not handle.instances:
        yield from _in_files(path, analysis)


def _in_files(path: str, analysis: Analysis) -> Iterator[_Limit]:
    found = analysis.configuration.of(configured.LIGHTNING, path, analysis.import_graph.together(path))
    for each in found:
        if each.aspect == "clip" and not each.is_interpolated and _is_limit(each.value):
            yield _Limit(each.value, each, followed=False)


def _is_limit(value: object) -> bool:
    try:
        return value is not None and not isinstance(value, bool) and float(str(value)) > 0
    except ValueError:
        return False


# -- DeepSpeed -------------------------------------------------------------------------------------------------


def _of_engines(analysis: Analysis) -> Iterator[Match]:
    """torch's clips between an engine's backward and its step."""
    for function, found in GradientCalls(analysis).loops():
        backward = next(
            (
                each
                for each in found
                if each.does is Does.FRAMEWORK_BACKWARD and each.handle and each.handle.framework is DEEPSPEED
            ),
            None,
        )
        if backward is None or backward.handle is None or backward.handle.scales is not False:
            continue
        limit = next((each for one in backward.handle.instances for each in _limit_of_engine(one, analysis)), None)
        for call in function.calls if limit is not None else ():
            place = Location(function, call)
            is_clip = last_name(call.func) in CLIP_FUNCTIONS
            if limit is None or not is_clip or not _is_between(backward.call, call, function, analysis):
                continue
            entry = limit.setting
            message = f"`{statement_text(place)}` clips what DeepSpeed clips: `{entry.key}: {entry.value}`"
            steps = ((limit.place, "DeepSpeed's limit"), (place, "the code's"))
            certain = backward.handle.followed and not isinstance(limit.place, Setting)
            yield Match(place, message, certain=certain, steps=steps)


def _limit_of_engine(instance: Instance, analysis: Analysis) -> Iterator[Entry]:
    """The `gradient_clipping` of the configuration that an engine is made with, if it is a limit."""
    config = instance.given("config") or instance.given("config_params")
    values = analysis.evaluator.values(config, instance.frame) if config is not None else ()
    tables = [table_of(each) for each in values if isinstance(each, DictLiteral)]
    if not tables:
        source = instance.place.path
        tables = [
            table
            for table in in_files(analysis)
            if any(source in entry.setting.programs for entry in table.entries.values())
        ]
    if len(tables) != 1:
        return
    entry = tables[0].entries.get("gradient_clipping")
    if entry is not None and not entry.setting.is_interpolated and _is_limit(entry.setting.value):
        yield entry


def _is_between(backward: ast.Call, clip: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether a clip comes behind a backward in the same loops."""
    loops = [analysis.enclosing.loops(each, function) for each in (backward, clip)]
    return backward.lineno < clip.lineno and loops[0] == loops[1]
