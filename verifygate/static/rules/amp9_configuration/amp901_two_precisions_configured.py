"""A configuration switches float16 and bfloat16 on at once.

## What it does
Reports a configuration in which `fp16` and `bf16` are both on: a DeepSpeed JSON or dict with both `enabled`, a YAML of
training arguments, or a command with `--fp16` and `--bf16`. It is *certain* where code, or a command, names the file.

## Impact
The framework refuses to start.

## Why is this bad
There is one precision. No framework chooses for you: each refuses to start.

## What happens at run time
DeepSpeed raises an AssertionError when it reads the configuration, `TrainingArguments` a ValueError ("At most one of
fp16 and bf16 can be True").

## Example
```python
import deepspeed


def build(model):
    config = {"train_batch_size": 8, "fp16": {"enabled": True}, "bf16": {"enabled": True}}
    return deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
```

## Use instead
```python
import deepspeed


def build(model):
    config = {"train_batch_size": 8, "bf16": {"enabled": True}}
    return deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
```

## Fix safety
No fix: which of the two is meant has to be known.

## What it cannot see
Values that are composed when the program starts, and a file that another one overrides in code.

## References
- https://www.deepspeed.ai/docs/config-json/
- https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from collections.abc import Iterable

from verifygate.configured_precision.setting import HUGGING_FACE, Setting
from verifygate.model import Severity
from verifygate.sources.configuration_file import SCRIPTS
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.deepspeed_tables import WORDS, Table, tables
from verifygate.static.rule import ConfigurationMatch, Match, Rule
from verifygate.static.symbols.location import Location

RULE = Rule(
    code="AMP901",
    name="two-precisions-configured",
    severity=Severity.HIGH,
    summary="a configuration switches float16 and bfloat16 on at once",
    remedy="keep the one that is meant, and switch the other off",
    words=WORDS,
    reads_configuration=True,
    no_proof="the frameworks refuse such a configuration before anything trains",
)

_ON = ("true", "1", "yes")


def check(analysis: Analysis) -> Iterable[Match | ConfigurationMatch]:
    """Every DeepSpeed table, and every set of training arguments in a file or a command, with both."""
    for table in tables(analysis):
        if table.value("fp16.enabled") in _ON and (other := _bf16(table)):
            first, second = table.entries["fp16.enabled"].place, table.entries[other].place
            yield _match(first, second, "DeepSpeed")
    driven = {each.path for each in analysis.configuration.drivers}
    for fp16, bf16 in _arguments(each for each in analysis.configuration.settings if each.path not in driven):
        yield _match(fp16, bf16, "the Trainer")


def _match(first: Location | Setting, second: Location | Setting, reader: str) -> Match | ConfigurationMatch:
    message = f"fp16 and bf16 are both on: {reader} refuses to start"
    steps = ((first, "fp16 is on"), (second, "and bf16 is on"))
    if isinstance(second, Setting):
        return ConfigurationMatch(second, message, certain=bool(second.reach), steps=steps)
    return Match(second, message, steps=steps)


def _bf16(table: Table) -> str:
    """The key that switches bfloat16 on, if one does."""
    return next((key for key in ("bf16.enabled", "bfloat16.enabled") if table.value(key) in _ON), "")


def _arguments(settings: Iterable[Setting]) -> Iterable[tuple[Setting, Setting]]:
    """fp16 and bf16 of one table, or of one command, where both are on."""
    groups: dict[tuple[str, ...], dict[str, Setting]] = {}
    for each in settings:
        if each.framework == HUGGING_FACE and each.key.rpartition(".")[2] in ("fp16", "bf16"):
            around = each.key.rpartition(".")[0]
            command = each.reach if each.path.endswith(SCRIPTS) else ""
            if each.value.lower() in _ON:
                groups.setdefault((each.path, around, command), {})[each.key.rpartition(".")[2]] = each
    yield from ((each["fp16"], each["bf16"]) for each in groups.values() if len(each) == 2)
