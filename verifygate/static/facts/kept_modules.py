"""The parts of a module of the project: what its constructor keeps in attributes, as it was given or made there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifygate.naming import names_a_model
from verifygate.static.symbols.program import Class
from verifygate.static.values.domain import Bound, ExternalResult, Object
from verifygate.static.values.evaluator import Evaluator

_WITH_WEIGHTS = re.compile(
    r"Linear|Conv|Embedding|Norm|LSTM|GRU|RNN|Attention|Transformer|Sequential|Module|Parameter|PReLU"
)
"""Names of torch's modules that have parameters."""


def kept_parts(made: Class, call: Bound | None, evaluator: Evaluator) -> Iterator[tuple[str, Bound]]:
    """The attributes that constructors give an object, each with what it is given; `call` made the object, if known."""
    seen: set[str] = set()
    for each in evaluator.linearised(made):
        for name, bindings in each.attributes.items():
            for binding, owner in bindings:
                if owner is None or owner.name != "__init__" or binding.kind != "value" or binding.expr is None:
                    continue
                if name not in seen:
                    seen.add(name)
                    yield name, Bound(binding.expr, evaluator.defining_frame(owner, made, call))


def is_a_module(made: Class, evaluator: Evaluator) -> bool:
    """Whether objects of a class are modules of torch whose parameters are those of their parts."""
    if any("parameters" in each.methods for each in evaluator.linearised(made)):
        return False
    return any(
        base.startswith("torch.nn.") or base.endswith((".LightningModule", ".PreTrainedModel"))
        for base in evaluator.outside_bases(made)
    )


def may_have_weights(name: str, part: Bound, evaluator: Evaluator) -> bool:
    """Whether a part of which no cast is known may have parameters, in torch's default dtype or another."""
    for value in evaluator.values(part.expr, part.frame):
        match value:
            case ExternalResult(name=outside):
                last = outside.rpartition(".")[2]
                if not outside.startswith("torch.") and (last[:1].isupper() or "pretrained" in last):
                    return True
                if _WITH_WEIGHTS.search(last):
                    return True
            case Object(made=made):
                if is_a_module(made, evaluator):
                    return True
            case _ if names_a_model(name):
                return True
    return False
