"""Modules of `torch.nn` whose call is more than one operator: attention, recurrent layers, transformer layers."""

from __future__ import annotations

from collections.abc import Callable

from verifygate.base.records import replace
from verifygate.events.record import Kind as Event
from verifygate.static.machine.call import Call, Handler, tuple_of
from verifygate.static.machine.torch_library.contents import held
from verifygate.static.machine.torch_library.operators import operator
from verifygate.static.machine.torch_library.tensors import (
    device_of,
    dtypes_of_call,
    regions_for,
    run_operator,
    tensors_in,
)
from verifygate.static.machine.values import FALSE, NONE, TRUE, Items, Object, Tensor, Tuple, Value, constant

_F = "torch.nn.functional."
_ATTENTION = f"{_F}multi_head_attention_forward"


def _own(call: Call) -> Tensor:
    """A parameter of the module: all of one are of one dtype."""
    found = [tensor for _, tensor, _ in held(call, call.receiver)] if isinstance(call.receiver, Object) else []
    return replace(found[0], is_parameter=True) if found else Tensor(reason="a module that is not known")


def _run(call: Call, name: str, *args: Value, **keywords: Value) -> Value:
    inner = Call(call.machine, name, call.site, args, keywords)
    return run_operator(inner, name, args)


def attention(call: Call, given: list[Value], *, weighted: bool) -> tuple[Value, Value]:
    """What `MultiheadAttention` gives for three tensors: the output, and the weights where they are wanted."""
    own = _own(call)
    turned = isinstance(call.receiver, Object) and call.get(call.receiver, "#batch_first") == TRUE
    if turned:
        same = {id(each): _turned(call, each) for each in given}
        given = [same[id(each)] for each in given]
    tensors = [*(each for value in given for each in tensors_in(value, call)), *(own,) * 4]
    known = operator(_ATTENTION)
    args = (*given, NONE, NONE, own, own, NONE, NONE, NONE, NONE, own, own)
    dtypes = dtypes_of_call(call, known, args, tensors)[0] if known is not None else frozenset()
    lifted = any(region and region[0] != "cpu" for region in regions_for(call, device_of(tensors)))
    out = Tensor(dtypes, device_of(tensors), True, place=call.place)
    weights = replace(out, dtypes=frozenset({"float32"})) if lifted else out
    made = (out.dtypes, weights.dtypes) if weighted else (out.dtypes,)
    call.emit(Event.OPERATOR, operator=_ATTENTION, dtypes_in=tuple(each.dtypes for each in tensors), dtypes_out=made)
    return (_turned(call, out) if turned else out), weights if weighted else NONE


def _turned(call: Call, value: Value) -> Value:
    return _run(call, "torch.Tensor.transpose", value, constant(1), constant(0))


def _attention(call: Call) -> Value:
    given = [call.argument(place, name) or NONE for place, name in enumerate(("query", "key", "value"))]
    return tuple_of(*attention(call, given, weighted=call.keywords.get("need_weights") != FALSE))


def _recurrent(operator: str) -> Handler:
    def run(call: Call) -> Value:
        own = _own(call)
        args = (call.argument(0, "input") or NONE, own, Tuple(Items((0, 1), (own, own))))
        result = _run(call, operator, *args)
        out = result.items.values[0] if isinstance(result, Tuple) and result.items.values else result
        out = result.items.rest if isinstance(result, Tuple) and result.items.rest is not None else out
        return tuple_of(out, tuple_of(out, out) if operator.endswith("lstm") else out)

    return run


def _cell(operator: str) -> Handler:
    def run(call: Call) -> Value:
        own = _own(call)
        result = _run(call, operator, call.argument(0, "input") or NONE, own, own, own, own, own)
        return tuple_of(result, result) if operator.endswith("lstm_cell") else result

    return run


def _encoder_layer(call: Call) -> Value:
    """Attention and two linear layers, each with dropout, a sum and a normalisation."""
    own = _own(call)
    x = call.argument(0, "src") or NONE

    def through(name: str, value: Value, **keywords: Value) -> Value:
        return _run(call, _F + name, value, **keywords)

    def added(value: Value, more: Value) -> Value:
        total = _run(call, "torch.Tensor.add", value, through("dropout", more))
        return through("layer_norm", total, weight=own, bias=own)

    x = added(x, attention(call, [x, x, x], weighted=False)[0])
    inner = through("dropout", through("relu", through("linear", x, weight=own, bias=own)))
    return added(x, through("linear", inner, weight=own, bias=own))


def _encoder(call: Call) -> Value:
    """Its layers are alike: what the second one gives for the first one's result, the others give too."""
    layer = call.get(call.receiver, "layers") if isinstance(call.receiver, Object) else None
    value = call.argument(0, "src") or NONE
    if layer is None:
        return call.unknown("a transformer without layers")
    for _ in range(2):
        value = call.call(layer, (value,))
    return value


FORWARDS: dict[str, Callable[[Call], Value]] = {
    "MultiheadAttention": _attention,
    "TransformerEncoderLayer": _encoder_layer,
    "TransformerEncoder": _encoder,
    "LSTM": _recurrent("torch.lstm"),
    "GRU": _recurrent("torch.gru"),
    "RNN": _recurrent("torch.rnn_tanh"),
    "LSTMCell": _cell("torch.lstm_cell"),
    "GRUCell": _cell("torch.gru_cell"),
    "RNNCell": _cell("torch.rnn_tanh_cell"),
}
