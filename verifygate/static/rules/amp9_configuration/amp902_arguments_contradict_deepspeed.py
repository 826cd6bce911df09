"""Training arguments contradict the DeepSpeed configuration that they name.

## What it does
Reports `TrainingArguments(deepspeed=...)` whose `fp16`, `bf16` or `max_grad_norm` is another one than the configuration
says, where neither side is `"auto"`; and a precision of the DeepSpeed file that a YAML of axolotl, LLaMA-Factory or TRL
names, where it is another one than the YAML's.

## Impact
The Trainer raises a ValueError when it starts.

## Why is this bad
Both configure one engine. The Trainer fills in what the configuration leaves at `"auto"`, and compares the rest.

## What happens at run time
ValueError when the Trainer starts: "Please correct the following DeepSpeed config values that mismatch
TrainingArguments values".

## Example
```python
from transformers import TrainingArguments

arguments = TrainingArguments("out", deepspeed={"train_batch_size": "auto", "fp16": {"enabled": True}})
```

## Use instead
```python
from transformers import TrainingArguments

arguments = TrainingArguments("out", deepspeed={"train_batch_size": "auto", "fp16": {"enabled": "auto"}})
```

## Fix safety
No fix: which of the two is meant has to be known.

## What it cannot see
Arguments from the command line of a program, or from `**kwargs`, and configurations that code changes.

## References
- https://huggingface.co/docs/transformers/deepspeed
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.deepspeed_tables import Entry, Table, in_files, table_of
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.domain import DictLiteral, ExternalName, Literal

RULE = Rule(
    code="AMP902",
    name="arguments-contradict-deepspeed",
    severity=Severity.HIGH,
    summary="training arguments contradict the DeepSpeed configuration that they name",
    remedy='write "auto" in the DeepSpeed configuration, or the same value on both sides',
    words=("TrainingArguments(",),
    no_proof="the Trainer refuses such arguments before anything trains",
)

_MAKERS = frozenset({"transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments"})
_PAIRS = {"fp16.enabled": "fp16", "bf16.enabled": "bf16", "gradient_clipping": "max_grad_norm"}
_DEFAULTS = {"fp16": False, "bf16": False, "max_grad_norm": 1.0}
_BACKENDS = {"half_precision_backend", "fp16_backend", "fp16_full_eval", "bf16_full_eval"}
"""With one of these another value than that of `fp16` is compared."""


def check(analysis: Analysis) -> Iterable[Match]:
    """Every call of TrainingArguments that names a configuration in sight."""
    for function in analysis.functions:
        for call in function.calls:
            if simple_name(call.func).endswith("TrainingArguments"):
                yield from _of_call(call, function, analysis)


def _of_call(call: ast.Call, function: Function, analysis: Analysis) -> Iterator[Match]:
    given = {word.arg: word.value for word in call.keywords}
    config = given.get("deepspeed")
    if config is None or None in given or not _BACKENDS.isdisjoint(given):
        return
    frame = analysis.evaluator.root_frame(function)
    makers = {each.name for each in analysis.evaluator.values(call.func, frame) if isinstance(each, ExternalName)}
    if not makers <= _MAKERS or not makers:
        return
    table = _table(config, function, analysis)
    if table is None:
        return
    for key, name in _PAIRS.items():
        entry = table.entries.get(key)
        if entry is None or entry.setting.is_interpolated:
            continue
        values = analysis.evaluator.values(given[name], frame) if name in given else (Literal(_DEFAULTS[name]),)
        if len(values) == 1 and isinstance(values[0], Literal) and not _agree(entry, values[0].value):
            said = f"`{name}={values[0].value}`" if name in given else f"`{name}` is left at {_DEFAULTS[name]}"
            place = Location(function, call)
            theirs = f"`{key}: {entry.setting.value}`"
            yield Match(
                place,
                f"{said}, and the DeepSpeed configuration says {theirs}: the Trainer refuses to start",
                steps=((entry.place, "the DeepSpeed configuration"), (place, "the arguments")),
                cause=call,
            )


def _table(config: ast.expr, function: Function, analysis: Analysis) -> Table | None:
    """The one configuration that an argument names."""
    values = analysis.evaluator.values(config, analysis.evaluator.root_frame(function))
    if len(values) != 1:
        return None
    if isinstance(values[0], DictLiteral):
        return table_of(values[0])
    if not isinstance(values[0], Literal):
        return None
    name = str(values[0].value).removeprefix("./")
    found = [each for each in in_files(analysis) if _names(name, each, function.module.path)]
    return found[0] if len(found) == 1 else None


def _names(name: str, table: Table, source: str) -> bool:
    entry = next(iter(table.entries.values()), None)
    if entry is None or source not in entry.setting.programs:
        return False
    path = entry.setting.path
    return path == name or path.endswith(f"/{name.lstrip('./')}")


def _agree(entry: Entry, value: object) -> bool:
    text = entry.setting.value.lower()
    if isinstance(value, bool) or value is None:
        return (text in ("true", "1")) is bool(value)
    try:
        return float(text) == float(str(value))
    except ValueError:
        return True
