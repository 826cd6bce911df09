"""A layer that computes in float8 has a size that float8 products do not take.

## What it does
Reports a layer of Transformer Engine that a float8 region runs, and a linear layer that torchao or Lightning converts
to float8, whose sizes are known and are no multiples of 16.

## Impact
The first forward raises, or the layer computes in half precision after all.

## Why is this bad
The matrix units take float8 operands in blocks of 16: libraries refuse other sizes, or leave such layers out.

## What happens at run time
- Transformer Engine raises in the first forward: `FP8 execution requires the product of all dimensions except the last
  to be divisible by 8 and the last dimension to be divisible by 16`. `in_features` has to be a multiple of 16,
  `out_features` one of 8; its documentation asks for 16 of both.
- torchao's `convert_to_float8_training` converts every linear layer unless a filter says otherwise; the product then
  raises on the device. With `emulate=True`, or `pad_inner_dim=True`, it does not.
- Lightning's `precision="transformer-engine"` leaves out a layer whose `in_features` are no multiple of 8 or whose
  `out_features` are none of 16, with a warning: it computes in half precision (low). One of, say, 24 inputs is
  converted, and raises.

Read in the sources of Transformer Engine, torchao 0.18 and Lightning 2.6; not run, for want of a device.

## Example
```python
import torch
import transformer_engine.pytorch as te

model = torch.nn.Sequential(te.Linear(64, 128), torch.nn.GELU(), te.Linear(128, 10))


def predict(inputs, recipe):
    with torch.no_grad(), te.fp8_autocast(enabled=True, fp8_recipe=recipe):
        return model(inputs)
```

## Use instead
```python
import torch
import transformer_engine.pytorch as te

model = torch.nn.Sequential(te.Linear(64, 128), torch.nn.GELU(), te.Linear(128, 16))


def predict(inputs, recipe):
    with torch.no_grad(), te.fp8_autocast(enabled=True, fp8_recipe=recipe):
        return model(inputs)[:, :10]
```

## Fix safety
No fix: a layer can be padded, kept out of float8, or be made of another size.

## What it cannot see
Sizes that come from settings; the sizes of batches and sequences, which have to be multiples of 8 as well; layers of a
model that is not followed.

## References
- https://docs.nvidia.com/deeplearning/transformer-engine/user-guide/examples/fp8_primer.html#FP8-autocasting
- https://docs.pytorch.org/ao/main/api_reference/generated/torchao.float8.convert_to_float8_training.html
- https://github.com/NVIDIA/TransformerEngine/issues/1422
"""

from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.amp.float8_regions import PACKAGE, is_surely_on
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.float8_layers import (
    CONVERTER,
    LIGHTNING_WORD,
    layers_run,
    lightning_conversions,
    torchao_conversions,
)
from verifygate.static.idioms.module_layers import Layer, layers_of
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.values.domain import Bound

RULE = Rule(
    code="AMP812",
    name="float8-dimensions",
    severity=Severity.HIGH,
    summary="a layer that computes in float8 has sizes that are no multiples of 16",
    remedy="pad the layer to multiples of 16, or keep it out of float8",
    words=(PACKAGE, CONVERTER, LIGHTNING_WORD),
    no_proof="float8 products run on CUDA devices alone",
)
_SIZES = {
    "Linear": ("in_features", "out_features"),
    "LayerNormLinear": ("in_features", "out_features"),
    "LayerNormMLP": ("hidden_size", "ffn_hidden_size"),
}
_LINEAR = "torch.nn.Linear"


def check(analysis: Analysis) -> Iterator[Match]:
    """Each layer once, by the first way in which it comes to compute in float8."""
    told: set[object] = set()
    for match in (*_in_regions(analysis), *_converted(analysis), *_by_lightning(analysis)):
        if match.place.node not in told:
            told.add(match.place.node)
            yield match


def _in_regions(analysis: Analysis) -> Iterator[Match]:
    for run in layers_run(analysis):
        read, written = _sizes(run.layer, analysis)
        if _is_multiple(read, 16) and _is_multiple(written, 16):
            continue
        refused = not _is_multiple(read, 16) or not _is_multiple(written, 8)
        place, region = run.layer.place, run.cover.region
        yield Match(
            place,
            f"`{statement_text(place)}` computes in float8, which takes multiples of 16",
            certain=refused and run.layer.sure and is_surely_on(region.region),
            steps=((place, "the layer"), (region.place, "the float8 region"), (run.place, "the layer runs")),
        )


def _converted(analysis: Analysis) -> Iterator[Match]:
    for conversion in torchao_conversions(analysis):
        if conversion.filtered or conversion.pads:
            continue
        always = not analysis.enclosing.conditions(conversion.place.node, conversion.place.function)
        for layer in _linear_layers(conversion.model, analysis):
            if all(_is_multiple(size, 16) for size in _sizes(layer, analysis)):
                continue
            yield Match(
                layer.place,
                f"`{statement_text(layer.place)}` is converted to float8, which takes multiples of 16",
                certain=layer.sure and always and conversion.pads is False,
                steps=((layer.place, "the layer"), (conversion.place, "every linear layer is converted")),
                remedy="pad the layer to multiples of 16, or give a `module_filter_fn` that leaves it out",
            )


def _by_lightning(analysis: Analysis) -> Iterator[Match]:
    for conversion in lightning_conversions(analysis):
        layers = list(layers_of(conversion.model.expr, conversion.model.frame, analysis))
        if any(layer.made.name.startswith(f"{PACKAGE}.") for layer in layers):
            continue  # Lightning converts nothing then
        for layer in layers:
            if layer.made.name != _LINEAR:
                continue
            read, written = _sizes(layer, analysis)
            steps = ((layer.place, "the layer"), (conversion.place, "the training"))
            text = statement_text(layer.place)
            if not (_is_multiple(read, 8) and _is_multiple(written, 16)):
                yield Match(
                    layer.place,
                    f"`{text}` stays out of float8: Lightning converts layers of 8 n inputs and 16 n outputs alone",
                    certain=layer.sure,
                    severity=Severity.LOW,
                    steps=steps,
                    remedy="pad the layer to such sizes if it is to be in float8",
                    cause=("left out", conversion.place.node),
                )
            elif not _is_multiple(read, 16):
                yield Match(
                    layer.place,
                    f"`{text}` is converted to float8, which takes multiples of 16",
                    certain=layer.sure,
                    steps=steps,
                )


def _linear_layers(model: Bound, analysis: Analysis) -> Iterator[Layer]:
    return (each for each in layers_of(model.expr, model.frame, analysis) if each.made.name == _LINEAR)


def _sizes(layer: Layer, analysis: Analysis) -> tuple[int | None, int | None]:
    """The numbers of inputs and outputs of a layer, where they are known."""
    read, written = _SIZES.get(layer.made.name.rpartition(".")[2], ("", ""))
    if not read:
        return None, None
    return layer.size(read, 0, analysis), layer.size(written, 1, analysis)


def _is_multiple(size: int | None, of: int) -> bool:
    """Whether a size is a multiple of a number, as far as it is known."""
    return size is None or size % of == 0
