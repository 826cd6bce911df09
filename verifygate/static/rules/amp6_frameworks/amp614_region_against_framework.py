"""An autocast region computes in another half precision than the framework that trains.

## What it does
Reports a region of the project, with a `dtype` written down, that is open where a framework computes in the other half
precision:

- float16 where the framework computes in bfloat16, which has no scaler;
- bfloat16 where it computes in float16, if no model runs outside of the region: a part may be meant to.

It is found in what Lightning's `training_step` runs, in the `forward` of a model that Accelerate, Fabric or a
transformers Trainer wraps, and around the forward of a DeepSpeed engine.

- Certain if the framework was followed to the call that gives it its precision.
- Likely otherwise, and around an engine.

## Impact
The run has another precision than the one configured: float16 gradients below 6e-8 become zero, or a scaler works for
nothing.

## Why is this bad
The innermost region decides. A framework that is asked for bfloat16 makes no GradScaler, so float16 gradients below
6e-8 become zero. A framework that is asked for float16 scales, looks for inf and skips steps, all for nothing if the
products are bfloat16. A reader of the configuration is told one precision, and the run has another.

## What happens at run time
Silent with Lightning, Accelerate and Fabric (torch 2.13). DeepSpeed switches the region off inside its engine, and says
so in a warning; older versions computed in it.

## Example
```python
import lightning
import torch
from torch.utils.data import DataLoader


class Net(lightning.LightningModule):
    def __init__(self, model, loss_fn, device):
        super().__init__()
        self.model, self.loss_fn, self.kind = model, loss_fn, device

    def training_step(self, batch, number):
        with torch.autocast(self.kind, dtype=torch.float16):
            return self.loss_fn(self.model(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def train(model, loss_fn, batches, device):
    trainer = lightning.Trainer(
        accelerator=device, max_epochs=1, precision="bf16-mixed", logger=False, enable_checkpointing=False
    )
    trainer.fit(Net(model, loss_fn, device), DataLoader(batches, batch_size=None))
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

    def training_step(self, batch, number):
        return self.loss_fn(self.model(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def train(model, loss_fn, batches, device):
    trainer = lightning.Trainer(
        accelerator=device, max_epochs=1, precision="bf16-mixed", logger=False, enable_checkpointing=False
    )
    trainer.fit(Net(model, loss_fn), DataLoader(batches, batch_size=None))
```

## Fix safety
No fix: either the region or the framework's precision may be the one that is meant.

## What it cannot see
Regions without a `dtype`: inside another one they take its dtype. A region around a model that `prepare` or `setup`
returned changes nothing in the model, whose own region is the inner one.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
- https://www.deepspeed.ai/docs/config-json/
"""

from collections.abc import Iterator

from verifygate.framework_names import DEEPSPEED
from verifygate.model import Severity
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.framework_precisions import Handle, Precision
from verifygate.static.idioms.delegated_autocast import region_around
from verifygate.static.idioms.framework_loops import HOOK_WORDS, LOOP_WORDS
from verifygate.static.rule import Match, Rule
from verifygate.static.syntax.traversal import is_none

RULE = Rule(
    code="AMP614",
    name="region-against-framework",
    severity=Severity.HIGH,
    summary="an autocast region computes in another half precision than the framework that trains",
    remedy="leave the region out: the framework computes in the precision that it is given",
    words=(*LOOP_WORDS, *HOOK_WORDS, "TrainingArguments("),
    proof="gradient-flush",
)
_OTHER = {
    Dtype.FLOAT16: frozenset({Precision.BFLOAT16, Precision.TRUE_BFLOAT16}),
    Dtype.BFLOAT16: frozenset({Precision.FLOAT16}),
}
"""The dtype of a region -> the precisions of a framework that contradict it."""


def check(analysis: Analysis) -> Iterator[Match]:
    """Every region whose dtype is written down, and not the one of the framework around it, or of the engine in it."""
    for region in analysis.written_regions.all:
        written = region.region.dtype
        if (
            not region.is_active
            or written is None
            or is_none(written.expr)
            or analysis.region_coverage.trains_not(region)
        ):
            continue
        dtypes = analysis.region_dtypes.of(region)
        if len(dtypes) != 1 or not (wrong := _OTHER.get(next(iter(dtypes)))):
            continue
        engine = _engine_in(region, analysis)
        handle = engine or region_around(region.context, region.function, analysis)
        if handle is None or not handle.precisions or not handle.precisions <= wrong:
            continue
        dtype = next(iter(dtypes))
        if dtype is Dtype.BFLOAT16 and _is_a_part(region, analysis):
            continue
        asked = "float16" if dtype is Dtype.BFLOAT16 else "bfloat16, and has no scaler"
        shown = ((handle.place, "the framework's precision"),) if handle.place is not None else ()
        settings = ((each, "the framework's precision") for each in handle.settings[:1])
        yield Match(
            region.place,
            f"the region computes in {dtype}, where {handle.framework.name} is asked for {asked}",
            certain=engine is None and handle.is_surely(*wrong),
            severity=Severity.MEDIUM if dtype is Dtype.BFLOAT16 or engine is not None else None,
            steps=(*shown, *settings, (region.place, "the region")),
        )


def _engine_in(region: WrittenRegion, analysis: Analysis) -> Handle | None:
    """The DeepSpeed engine whose forward runs in a region."""
    frame = analysis.evaluator.root_frame(region.function)
    for call in region.calls:
        handle = analysis.frameworks.handle(call.func, frame)
        if handle is not None and handle.framework is DEEPSPEED:
            return handle
    return None


def _is_a_part(region: WrittenRegion, analysis: Analysis) -> bool:
    """Whether the function runs a model outside of the region as well."""
    inside = set(region.nodes)
    return any(
        call not in inside and analysis.hot_loops.is_model(call.func, region.function) for call in region.function.calls
    )
