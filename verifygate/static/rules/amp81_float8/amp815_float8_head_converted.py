"""torchao converts every linear layer of a model to float8, its head too.

## What it does
Reports `convert_to_float8_training(model)` without a `module_filter_fn`, over a whole model: one that is not followed,
or whose layers are, with the layer that comes last.

## Impact
Nearly all logits are computed with an error of up to 6 percent, where bfloat16's is 0.4, and small layers become
slower.

## Why is this bad
Without a filter, every `nn.Linear` is converted: the head that gives the logits, routers of experts, and layers that
are too small to gain anything. The example of torchao's documentation leaves out the last layer, and those whose sizes
are no multiples of 16. Logits in 3 bits of mantissa are what the loss is computed of; a small layer is slower in
float8, because each operand is scaled and cast first.

## What happens at run time
Silent, but for sizes that float8 products refuse (AMP812). On torch 2.13 (CPU), of 100,000 normal numbers that are
scaled to their largest and cast to `float8_e4m3fn`, 99.9 percent are off by up to 6 percent, those nearest to 0 by
19.9 percent and more (some become 0); in `bfloat16` all are off by up to 0.4.

## Example
```python
import torch
from torchao.float8 import convert_to_float8_training

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 32))
convert_to_float8_training(model)
```

## Use instead
```python
import torch
from torchao.float8 import convert_to_float8_training


def inside(module, name):
    return name != "2" and module.in_features % 16 == 0 and module.out_features % 16 == 0


model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 32))
convert_to_float8_training(model, module_filter_fn=inside)
```

## Fix safety
No fix: which layers gain from float8 depends on their sizes and on the device.

## What it cannot see
What a filter leaves out. A part of a model that is converted, `convert_to_float8_training(model.layers)`, is left
alone, and so is each block of a loop.

## References
- https://docs.pytorch.org/ao/main/api_reference/generated/torchao.float8.convert_to_float8_training.html
- https://github.com/pytorch/ao/tree/main/torchao/float8
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.float8_layers import CONVERTER, Conversion, torchao_conversions
from verifygate.static.idioms.module_layers import Layer, layers_of
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.program import Function

RULE = Rule(
    code="AMP815",
    name="float8-head-converted",
    severity=Severity.LOW,
    summary="every linear layer of a model is converted to float8, its head too",
    remedy="give a `module_filter_fn` that leaves out the head, routers, and layers that are small",
    words=(CONVERTER,),
    no_proof="whether a loss suffers depends on the model and its data",
)
_OF_A_LOOP = frozenset({"iteration", "entry", "part", "index"})


def check(analysis: Analysis) -> Iterator[Match]:
    """Conversions without a filter, of what is no part of a model."""
    for conversion in torchao_conversions(analysis):
        if conversion.filtered or _is_part(conversion.model.expr, conversion.place.function):
            continue
        layers = _linear_layers(conversion, analysis)
        if layers is not None and len(layers) < 2:
            continue
        last = layers[-1] if layers else None
        named = f", `{statement_text(last.place)}` at the end too" if last is not None else ", the head too"
        yield Match(
            conversion.place,
            f"`{statement_text(conversion.place)}` converts every linear layer{named}",
            certain=False,
            steps=((last.place, "the last linear layer"),) if last is not None else (),
        )


def _is_part(expr: ast.expr, function: Function) -> bool:
    """Whether an expression names a part of a model: `model.layers`, `model.blocks[0]`, the variable of a loop.

    `self.model` is a whole one.
    """
    while isinstance(expr, ast.Subscript):
        expr = expr.value
    match expr:
        case ast.Name(id=name):
            return any(each.kind in _OF_A_LOOP for each in function.scope.names.get(name, ()))
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            return False
        case ast.Attribute(attr="module" | "_orig_mod", value=inner):
            return _is_part(inner, function)
        case ast.Attribute():
            return True
    return False


def _linear_layers(conversion: Conversion, analysis: Analysis) -> list[Layer] | None:
    """The linear layers of a model, in order; None where it is not followed to them."""
    found = list(layers_of(conversion.model.expr, conversion.model.frame, analysis))
    linear = [each for each in found if each.made.name == "torch.nn.Linear"]
    return linear or None
