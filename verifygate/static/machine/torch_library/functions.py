"""Functions of a project with a backward of their own: `torch.autograd.Function`."""

from __future__ import annotations

from verifygate.base.records import replace
from verifygate.static.machine.call import Call, Handler
from verifygate.static.machine.torch_library.tensors import tensors_in
from verifygate.static.machine.values import FALSE, NONE, TRUE, LibraryMethod, Tensor, Unknown, Value

FUNCTION, CONTEXT = "torch.autograd.Function", "torch.autograd.function.FunctionCtx"
_NOTED = ("save_for_backward", "mark_dirty", "mark_non_differentiable", "set_materialize_grads", "save_for_forward")


def bases(name: str) -> tuple[str, ...]:
    return (FUNCTION,) if name == "torch.autograd.function.Function" else ()


def _apply(call: Call) -> Value:
    """The forward of the class runs without gradients; what comes out has them where an argument has."""
    context = call.new(CONTEXT)
    forward = call.machine.attribute(call.receiver, "forward", call.site)
    given = [each for value in call.args for each in tensors_in(value, call)]
    before = call.switch("grad") or TRUE
    call.set_switch("grad", FALSE)
    result = call.call(forward, (context, *call.args))
    call.set_switch("grad", before)
    if before == TRUE and any(each.graph or each.is_parameter for each in given):
        return call.machine.mapped(result, lambda atom: replace(atom, graph=True) if isinstance(atom, Tensor) else atom)
    return result


def attribute(owner: str, name: str) -> Handler | None:
    """`Function.apply`, a method of the class; what a forward has kept for the backward."""
    if owner == FUNCTION and name == "apply":
        return lambda call: LibraryMethod(FUNCTION, name, call.receiver)
    if owner == CONTEXT and name in ("saved_tensors", "needs_input_grad"):
        return lambda call: Unknown("what a forward has kept", call.place)
    return None


def method(owner: str, name: str) -> Handler | None:
    if owner == FUNCTION and name == "apply":
        return _apply
    return (lambda _: NONE) if owner == CONTEXT and name in _NOTED else None
