"""An optimizer with small steps trains weights in bfloat16 that have no float32 master copy.

## What it does
Reports an Adam of torch or of bitsandbytes over parameters that a cast or a `dtype` made bfloat16, if its learning rate
is not above 1e-3, or is not told. Above 1e-4 only large weights lose their updates: the severity is medium then, and
the finding is not certain.

Layers of torch that are made while `torch.set_default_dtype` has set bfloat16 are bfloat16.

A module that keeps a model has its weights: a wrapper, a LightningModule, what DDP, `prepare` and `setup` return. So
have the modules that Lightning and Fabric make bfloat16 by `precision="bf16-true"`, and the model of a transformers
Trainer, which steps it by an AdamW unless its settings say otherwise. So have those that a YAML of axolotl,
LLaMA-Factory, TRL or torchtune trains, where the learning rate is not above 3e-5.

## Impact
Most updates are rounded away: 97 % of the weights of a small net were bit for bit the same after 200 steps of AdamW
at a learning rate of 1e-5.

## Why is this bad
bfloat16 has eight bits of precision: between 0.0625 and 0.125 its neighbours are 0.0005 apart. A step of Adam is about
as long as the learning rate. What is smaller than half the distance to the next number is rounded away, each time anew:
the weight stays as it is, however long the training. The same holds for the state: the second moment never decays,
because `beta2` 0.999 rounds to 1, and so do weight decay and averages.

## What happens at run time
Silent on every torch. On 2.13 (CPU), 97 % of the weights of a small net are bit for bit the same after 200 steps of
AdamW at a learning rate of 1e-5; in float32 none is. The loss falls more slowly, or stands still.

A recorded run counts the lost updates of half weights, whatever the source says of the dtype and the learning rate, and
reports this rule where most are lost.

## Example
```python
import torch


def train(model, loss_fn, batches):
    model.to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(model(inputs.bfloat16()), targets)
        loss.backward()
        optimizer.step()
```

## Use instead
```python
import torch


def train(model, loss_fn, batches, device):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
```

## Fix safety
No fix: float32 weights and autocast need twice the memory for the weights. Where that is not there, an optimizer that
rounds stochastically (torchao's `AdamW8bit(bf16_stochastic_round=True)`), one that sums what was lost (Kahan), or an
engine that keeps master weights (DeepSpeed) does it.

## What it cannot see
Optimizers of other packages: some round stochastically, some keep master weights. Listed as not followed are parameters
that are chosen one by one, or halved one by one by their `data`; models of which a part is frozen, as what is trained
may be float32; casts whose dtype comes from a setting, or of which nothing tells whether they come first; and half
weights that another optimizer steps than an Adam, or in float16 without a scaler: no table says what their steps lose.
Where the model is handed to a framework that may keep master weights, the finding is not
certain. Weights in float16 are reported by AMP401 where a scaler steps them, and by AMP402 for the epsilon; those that
FSDP shards by a policy, by AMP802.

In `run` (and by `check --abstract-run`), programs are also run on an abstract machine, which sees which parameters a
filter takes, which of them are frozen, casts in a loop over modules, and float16 that no scaler steps.

## References
- https://docs.pytorch.org/docs/stable/amp.html
- https://docs.pytorch.org/ao/stable/api_reference/api_ref_optim.html
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.framework_precisions import Instance
from verifygate.static.idioms.half_weights import HalfOptimizer, half_in_a_trainer, half_optimizers, halved_in_place
from verifygate.static.idioms.master_weights import has_master_weights, is_frozen_by, may_have_master_weights
from verifygate.static.idioms.sharding_policies import is_sharded_by_a_policy
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.values.domain import Literal

RULE = Rule(
    code="AMP701",
    name="low-precision-weights",
    severity=Severity.HIGH,
    summary="bfloat16 weights without a float32 master copy are trained in steps that round away",
    remedy="keep the weights in float32 and compute under autocast, or use an optimizer that rounds stochastically",
    words=(),
    beside=(r"optim\.|Adam|TrainingArguments", r"bfloat16|dtype|bf16"),
    proof="weights-moved",
    witnesses=(Witness.STATIC, Witness.RUN),
)

_PACKAGES = ("torch.optim.", "bitsandbytes.optim.")
_DEFAULT_RATES = {
    **dict.fromkeys(("Adam", "AdamW", "RAdam"), 1e-3),
    "NAdam": 2e-3,
    "Adamax": 2e-3,
    "RMSprop": 1e-2,
    **dict.fromkeys(("Adam8bit", "AdamW8bit", "PagedAdamW8bit", "PagedAdamW", "PagedAdamW32bit", "AdamW32bit"), 1e-3),
}
"""Optimizers whose step is about as long as the learning rate -> the rate that they have by default."""
_ADAMW = ("adamw", "paged_adamw")
"""How transformers calls its Adams."""
_TRAINERS_RATE = 5e-5
"""The learning rate of TrainingArguments that are given none."""
_SMALL = 1e-3
"""A step of this length is lost by weights above 0.5: by some, and by the state."""
_TINY = 1e-4
"""One of this length is lost by weights above 0.06: by most."""


def looks_beside(analysis: Analysis) -> bool:
    """Whether any file of the project has a word of the dtype."""
    return any(b"bfloat16" in file.data or b"bf16-true" in file.data for file in analysis.program.sources)


def check(analysis: Analysis) -> Iterator[Match]:
    """Every such optimizer whose parameters surely are bfloat16, or may be."""
    for half in half_optimizers(analysis, Dtype.BFLOAT16, _PACKAGES):
        if half.function.module.file.is_test or half.name not in _DEFAULT_RATES:
            continue
        if has_master_weights(half, analysis):
            continue
        rate, is_known = _rate(half, analysis)
        frame = analysis.evaluator.root_frame(half.function)
        if rate > _SMALL or not (is_known or half.way.sure):
            continue
        if is_sharded_by_a_policy(half.model, frame, half.way.cast, analysis):
            continue
        if is_frozen_by(half, analysis):
            reason = (
                f"which parameters of `{ast.unparse(half.model)}` are trained, of which some are frozen, cannot be told"
            )
            analysis.gave_up(half.place, reason, RULE.code)
            continue
        told = f"by about {rate:g}" if is_known else "by about the learning rate"
        alone = not analysis.enclosing.conditions(half.call, half.function)
        yield Match(
            half.place,
            f"`{half.name}` steps bfloat16 weights {told}, and nothing keeps what rounding takes away: "
            "steps below half the distance to the next number are lost",
            certain=half.way.sure
            and is_known
            and rate <= _TINY
            and alone
            and not may_have_master_weights(half, analysis),
            severity=None if rate <= _TINY else Severity.MEDIUM,
            steps=((half.way.cast, "the weights are made bfloat16"), (half.place, "the optimizer")),
            cause=half.way.cast,
        )
    yield from _in_trainers(analysis)
    _tell_what_is_not_judged(analysis)


def _tell_what_is_not_judged(analysis: Analysis) -> None:
    """Half weights that an optimizer steps of which no table here says how long its steps are, or in float16."""
    stepped = {each.call for each in half_optimizers(analysis) if _is_scaled(each, analysis)}
    for dtype in (Dtype.BFLOAT16, Dtype.FLOAT16):
        for half in half_optimizers(analysis, dtype, _PACKAGES):
            is_told = dtype is Dtype.BFLOAT16 and half.name in _DEFAULT_RATES
            if is_told or half.call in stepped or half.function.module.file.is_test:
                continue
            if not has_master_weights(half, analysis):
                reason = f"how much of what `{half.name}` steps is lost in {dtype} weights is not judged"
                analysis.gave_up(half.place, reason, RULE.code)
    for place in halved_in_place(analysis):
        files = analysis.program.sources.each(analysis.import_graph.together(place.path))
        if not place.function.module.file.is_test and any(b"optim." in file.data for file in files):
            analysis.gave_up(place, "whether the weights that this makes half are trained cannot be told", RULE.code)


def _is_scaled(half: HalfOptimizer, analysis: Analysis) -> bool:
    """Whether a scaler of the program steps: it refuses float16 weights, which AMP401 tells."""
    together = analysis.import_graph.together(half.place.path)
    return any(each.method == "step" and each.place.path in together for each in analysis.scaler_calls)


def _in_trainers(analysis: Analysis) -> Iterator[Match]:
    """The models of transformers' Trainer, which builds an AdamW unless its settings ask for another optimizer."""
    for call, function in analysis.calls if analysis.frameworks.instances else ():
        words = {word.arg for word in call.keywords}
        if ("args" not in words and len(call.args) < 2) or words & {"optimizers", "optimizer_cls_and_kwargs"}:
            continue
        frame = analysis.evaluator.root_frame(function)
        found = half_in_a_trainer(call, frame, analysis, Dtype.BFLOAT16)
        way, handle = found if found is not None else (None, None)
        if way is None or handle is None or function.module.file.is_test:
            continue
        rates = [_rate_of_settings(each, analysis) for each in handle.instances]
        if not rates or None in rates or max(filter(None, rates)) > _SMALL:
            continue
        place = Location(function, call)
        yield Match(
            place,
            "the AdamW of this Trainer steps bfloat16 weights, and nothing keeps what rounding takes away: "
            "steps below half the distance to the next number are lost",
            certain=False,
            severity=None if max(filter(None, rates)) <= _TINY else Severity.MEDIUM,
            steps=((way.cast, "the weights are made bfloat16"), (place, "the Trainer")),
            cause=way.cast,
        )


def _rate_of_settings(settings: Instance, analysis: Analysis) -> float | None:
    """The learning rate by which AdamW steps; None where something else steps, or it is not told."""
    if any(settings.given(word) is not None for word in ("deepspeed", "fsdp")):
        return None
    if (optimizer := settings.given("optim")) is not None:
        values = analysis.evaluator.values(optimizer, settings.frame)
        if not all(isinstance(each, Literal) and str(each.value).startswith(_ADAMW) for each in values):
            return None
    given = settings.given("learning_rate")
    return _TRAINERS_RATE if given is None else analysis.constants.number(given, settings.frame)


def _rate(half: HalfOptimizer, analysis: Analysis) -> tuple[float, bool]:
    """The learning rate of an optimizer, and whether the source says it; 0 where it does not."""
    options = half.options
    given = options.get("lr") or (half.call.args[1] if len(half.call.args) > 1 else None)
    if given is None:
        return (0.0, False) if None in options else (_DEFAULT_RATES[half.name], True)
    number = analysis.constants.number(given, analysis.evaluator.root_frame(half.function))
    return (0.0, False) if number is None else (number, True)
