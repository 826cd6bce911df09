"""Arguments for a framework's precision contradict each other, are unknown to it, or are ignored.

## What it does
Reports `fp16=True` with `bf16=True` for transformers; a word for a precision that the framework does not know;
`precision=` beside a plugin that has one; `GradScalerKwargs(enabled=False)` for an Accelerator that computes in
float16; arguments that were removed; and words that came with a later version than the project allows, such as
`16-mixed` where it pins Lightning 1.9. Also what a framework refuses in the YAML that it trains by: `dtype: fp16` of
torchtune, LLaMA-Factory's `pure_bf16` over ZeRO-3, quantised weights without an adapter.

- Certain if the arguments are constants. The versions are those that requirements, pyproject.toml, lock files and the
  like allow, or `framework_versions` of `[static]`.
- Arguments that were removed: certain where no version that still has them is allowed, likely where nothing is said of
  the version, and not reported where only such versions are allowed.

| Framework | Argument or word | |
|---|---|---|
| Lightning | `amp_backend`, `amp_level` | removed in 2.0 |
| Accelerate | `fp16` | removed in 0.16 |
| transformers | `fp16_backend`, `half_precision_backend`, `fp16_opt_level` | removed in 5.0 |
| Lightning, Fabric | `16-mixed`, `bf16-mixed`, `32-true`, `64-true` | since 2.0 |
| Lightning, Fabric | `16-true`, `bf16-true`, `transformer-engine`, `transformer-engine-float16` | since 2.1 |

## Impact
The program stops where it builds the framework, often on the cluster only; with the scaler switched off, small
float16 gradients become zero.

## Why is this bad
The program ends where it builds the framework, often on the cluster only. A float16 training without a scaler does run,
and its small gradients become zero.

## What happens at run time
ValueError (transformers, Accelerate, Lightning; MisconfigurationException in Lightning 1.9), or TypeError for what was
removed. With the scaler switched off nothing raises. Seen with torch 2.13, Accelerate 1.15 and Lightning 2.6.

## Example
```python
from accelerate import Accelerator


def train(model, loss_fn, optimizer, batches):
    accelerator = Accelerator(mixed_precision="float16")
    model, optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        accelerator.backward(loss_fn(model(inputs), targets))
        optimizer.step()
```

## Use instead
```python
from accelerate import Accelerator


def train(model, loss_fn, optimizer, batches):
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        accelerator.backward(loss_fn(model(inputs), targets))
        optimizer.step()
```

## Fix safety
No fix: which of two precisions is meant, the author knows.

## What it cannot see
The version that is installed, where the project pins none. DeepSpeed's settings, and others in files, are AMP901's.

## References
- https://lightning.ai/docs/pytorch/stable/common/precision_basic.html
- https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.framework_names import (
    ACCELERATE,
    FABRIC,
    LIGHTNING,
    PRECISION_PLUGINS,
    TRANSFORMERS,
)
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Instance, Precision
from verifygate.static.idioms.framework_scalers import scaler_is_off
from verifygate.static.rule import Match, Rule
from verifygate.static.values.domain import ExternalResult, Items, Literal

RULE = Rule(
    code="AMP612",
    name="contradicting-precision",
    severity=Severity.HIGH,
    summary="arguments for a framework's precision contradict each other, are unknown to it, or are ignored",
    remedy="say the precision once, by a word that the framework knows",
    words=("Accelerator(", "Fabric(", "Trainer(", "TrainingArguments("),
    proof="raised-error",
)
_KNOWN = {
    ACCELERATE: frozenset({"no", "fp16", "bf16", "fp8", None}),
    FABRIC: frozenset({"transformer-engine", "transformer-engine-float16", "nf4", "nf4-dq", "fp4", "int8", None})
    | {f"{bits}-{kind}" for bits in ("16", "bf16") for kind in ("true", "mixed")}
    | {"32-true", "64-true", "64", "32", "16", "bf16", 64, 32, 16},
}
_KNOWN[LIGHTNING] = _KNOWN[FABRIC]
_REMOVED = {
    LIGHTNING: dict.fromkeys(("amp_backend", "amp_level"), "2.0"),
    ACCELERATE: {"fp16": "0.16"},
    TRANSFORMERS: dict.fromkeys(("fp16_backend", "half_precision_backend", "fp16_opt_level"), "5.0"),
}
_SINCE = dict.fromkeys(("16-mixed", "bf16-mixed", "32-true", "64-true"), "2.0") | dict.fromkeys(
    ("16-true", "bf16-true", "transformer-engine", "transformer-engine-float16"), "2.1"
)
"""Word for a precision -> the first version of Lightning and of Fabric that takes it."""


def check(analysis: Analysis) -> Iterable[Match]:
    """Every call that gives a framework its precision, argument by argument."""
    for each in analysis.frameworks.instances:
        for says in (_both, _unknown, _not_known_yet, _beside_a_plugin, _removed, _without_scaler):
            yield from says(each, analysis)


def _both(each: Instance, analysis: Analysis) -> Iterator[Match]:
    """float16 and bfloat16 at once."""
    if each.framework is TRANSFORMERS:
        given = [each.given(word) for word in ("fp16", "bf16")]
        if all(expr is not None and analysis.evaluator.truth(expr, each.frame) is True for expr in given):
            yield Match(each.place, "`fp16` and `bf16` are both on: transformers takes one of them")


def _unknown(each: Instance, analysis: Analysis) -> Iterator[Match]:
    """A word that the framework does not know."""
    known, given = _KNOWN.get(each.framework), each.given(each.framework.keywords[0])
    if known is None or given is None:
        return
    values = analysis.evaluator.values(given, each.frame)
    words = [value.value for value in values if isinstance(value, Literal)]
    wrong = [word for word in words if not isinstance(word, str | int | None) or word not in known]
    if wrong and all(isinstance(word, str) for word in wrong):
        takes = ", ".join(f"`{word}`" for word in sorted(word for word in known if isinstance(word, str)))
        yield Match(
            each.place,
            f"{each.framework.name} knows no precision `{wrong[0]}`",
            certain=len(values) == 1,
            remedy=f"it takes {takes}",
        )


def _not_known_yet(each: Instance, analysis: Analysis) -> Iterator[Match]:
    """A word that the versions which the project allows do not have."""
    given, version = each.given("precision"), analysis.version_of(each.framework, each.place.path)
    if each.framework not in (LIGHTNING, FABRIC) or given is None or version is None:
        return
    values = analysis.evaluator.values(given, each.frame)
    for value in values:
        word = value.value if isinstance(value, Literal) else None
        since = _SINCE.get(word) if isinstance(word, str) else None
        if since is not None and not version.reaches(since):
            message = f"`{word}` is a precision of {each.framework.name} {since}, and the project allows {version}"
            remedy = "write `16` or `bf16`, or raise the version"
            yield Match(each.place, message, certain=len(values) == 1, remedy=remedy)


def _beside_a_plugin(each: Instance, analysis: Analysis) -> Iterator[Match]:
    """`precision=` beside a plugin that has a precision."""
    if each.framework not in (LIGHTNING, FABRIC) or each.given("precision") is None or each.given("plugins") is None:
        return
    said = analysis.evaluator.values(each.given("precision"), each.frame)  # type: ignore[arg-type]
    plugins = _made(each.given("plugins"), each, analysis)  # type: ignore[arg-type]
    if plugins & PRECISION_PLUGINS and all(isinstance(value, Literal) and value.value is not None for value in said):
        yield Match(each.place, f"{each.framework.name} is given a precision, and a plugin that has one")


def _removed(each: Instance, analysis: Analysis) -> Iterator[Match]:
    """An argument that newer versions do not take."""
    allowed = analysis.version_of(each.framework, each.place.path)
    for word, version in _REMOVED.get(each.framework, {}).items():
        if each.given(word) is None or (allowed is not None and not allowed.reaches(version)):
            continue
        message = f"`{word}` is no argument of {each.framework.name}'s any more: it was removed in {version}"
        certain = allowed is not None and allowed.begins_at(version)
        yield Match(each.place, message, certain=certain, remedy=f"remove `{word}`, and say the precision alone")


def _without_scaler(each: Instance, analysis: Analysis) -> Iterator[Match]:
    """float16 with the scaler switched off."""
    handlers = each.given("kwargs_handlers")
    if each.framework is not ACCELERATE or handlers is None or not each.precisions:
        return
    if Precision.FLOAT16 in each.precisions and scaler_is_off(handlers, each.frame, analysis):
        yield Match(
            each.place,
            "float16 with the scaler switched off: gradients that float16 cannot hold become zero",
            certain=each.precisions == {Precision.FLOAT16},
            remedy='leave the scaler on, or ask for `mixed_precision="bf16"`',
        )


def _made(expr: ast.expr, each: Instance, analysis: Analysis) -> frozenset[str]:
    """The outside names of what an expression is, or of what is in the list that it is."""
    found: set[str] = set()
    for value in analysis.evaluator.values(expr, each.frame):
        if isinstance(value, ExternalResult):
            found.add(value.name)
        for part in value.elements if isinstance(value, Items) else ():
            found |= _made(part, each, analysis)
    return frozenset(found)
