"""What a configuration trains is used in another dtype than it is trained in.

## What it does
Reports a configuration that is the program whose rollout engine samples in another
dtype than its training computes in (`vllm.dtype` of axolotl, `trl vllm-serve --dtype`, verl's `rollout.dtype`), and an
export of LLaMA-Factory that writes float16 of what another file trains in bfloat16, or the other way round. It is
*likely*: how far two dtypes take the outputs apart depends on the model.

## Impact
The policy that samples, or the model that is exported, is another one than the one that is trained.

## Why is this bad
The loss of GRPO, RLOO and PPO compares probabilities of the same tokens: of the engine that sampled them, and of the
training. In another dtype they differ without any step between them, so the training is off-policy from its first step.
A model trained in bfloat16 may have activations beyond 65504, which float16 turns to inf.

## What happens at run time
Silent. With importance sampling between the two (on by default in TRL's GRPO, off in verl), ratios that differ too much
are clipped, or their sequences left out; without it nothing corrects them.

## Example
```yaml
base_model: org/model
datasets:
  - path: org/data
micro_batch_size: 1
bf16: true
rl: grpo
trl:
  use_vllm: true
  vllm_mode: server
vllm:
  dtype: float16
```

## Use instead
```yaml
base_model: org/model
datasets:
  - path: org/data
micro_batch_size: 1
bf16: true
rl: grpo
trl:
  use_vllm: true
  vllm_mode: server
vllm:
  dtype: bfloat16
```

## Fix safety
No fix: which of the two is meant has to be known.

## What it cannot see
A dtype that the checkpoint or the card decides (`dtype: auto`), an engine that no command line of the tree starts, and
weights that are quantised for the rollout or the export on purpose.

## References
- https://huggingface.co/docs/trl/vllm_integration
- https://verl.readthedocs.io/en/latest/algo/rollout_corr.html
"""

from collections.abc import Iterable, Iterator

from verifygate.configured_precision.drivers import Driver
from verifygate.configured_precision.framework_table import Cell
from verifygate.configured_precision.setting import BFLOAT16, FLOAT16, FLOAT32, Setting
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.rule import ConfigurationMatch, Rule

RULE = Rule(
    code="AMP905",
    name="used-in-another-dtype",
    severity=Severity.MEDIUM,
    summary="the rollout engine or the export has another dtype than the training of one configuration",
    remedy="give both the same dtype",
    words=("actor_rollout_ref", "vllm_mode"),
    reads_configuration=True,
    no_proof="the engine that samples is a program of its own, and needs a GPU",
)

_DTYPES = (BFLOAT16, FLOAT16, FLOAT32)


def check(analysis: Analysis) -> Iterable[ConfigurationMatch]:
    """Every configuration of which two dtypes are known that differ."""
    drivers = analysis.configuration.drivers
    for driver in drivers:
        yield from _of_rollout(driver)
        if (export := _known(driver, "export")) is not None and driver.reads:
            yield from (match for other in drivers for match in _of_export(driver, export, other))


def _of_rollout(driver: Driver) -> Iterator[ConfigurationMatch]:
    compute, rollout = _known(driver, "compute"), _known(driver, "rollout")
    if compute is None or rollout is None or compute.value == rollout.value:
        return
    is_corrected = "correction" in driver.cells and driver.cells["correction"].value == "on"
    used = f"the rollout engine samples in {rollout.value}"
    steps = _steps(driver, compute, _setting(driver, rollout), used)
    message = f"{used}, and training computes in {compute.value}"
    if is_corrected:
        message += ": importance sampling weighs what differs, or leaves it out"
    severity = Severity.LOW if is_corrected else None
    yield ConfigurationMatch(steps[1][0], message, certain=False, steps=steps, severity=severity)


def _of_export(driver: Driver, export: Cell, trained: Driver) -> Iterator[ConfigurationMatch]:
    """What is exported in one 16-bit dtype, and was trained in the other: of float32 people export on purpose."""
    compute = _known(trained, "compute")
    if trained is driver or not trained.writes or trained.writes not in driver.reads or compute is None:
        return
    if {export.value, compute.value} == {BFLOAT16, FLOAT16}:
        steps = _steps(trained, compute, _setting(driver, export), f"the export writes {export.value}")
        message = f"the export writes {export.value}, and the training computes in {compute.value}"
        yield ConfigurationMatch(steps[1][0], message, certain=False, steps=steps)


def _steps(trained: Driver, compute: Cell, used: Setting, how: str) -> tuple[tuple[Setting, str], tuple[Setting, str]]:
    return (_setting(trained, compute), f"training computes in {compute.value}"), (used, how)


def _setting(driver: Driver, cell: Cell) -> Setting:
    return Setting(
        framework=driver.framework.name, aspect=cell.name, key=cell.said.partition(":")[0] or cell.default,
        value=cell.value, path=cell.path, line=cell.line,
    )  # fmt: skip


def _known(driver: Driver, name: str) -> Cell | None:
    """A cell whose value is one dtype; None where it is more than that, or not known."""
    cell = driver.cells.get(name)
    return cell if cell is not None and cell.value in _DTYPES else None
