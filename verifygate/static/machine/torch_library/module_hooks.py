"""Calls of modules: their hooks run around the forward, and may put something else in place of input or output."""

from __future__ import annotations

from verifygate.static.machine.call import Call, tuple_of
from verifygate.static.machine.values import NONE, Object, Tensor, Tuple, Value


def run(call: Call) -> Value:
    """Call a module."""
    of, args = call.receiver, call.args
    for hook in _hooks(call, "register_forward_pre_hook"):
        given = call.call(hook, (of, tuple_of(*args)))
        if isinstance(given, Tuple) and given.items.rest is None:
            args = given.items.values
        elif isinstance(given, Tensor):
            args = (given,)
    result = call.call_method(of, "forward", args, call.keywords)
    for hook in _hooks(call, "register_forward_hook"):
        given = call.call(hook, (of, tuple_of(*args), result))
        result = result if given == NONE else given
    return result


def _hooks(call: Call, name: str) -> tuple[Value, ...]:
    held_by = call.get(call.receiver, f"#{name}") if isinstance(call.receiver, Object) else None
    return call.elements(held_by).all if held_by is not None else ()


def register(call: Call) -> Value:
    """Keep a hook with a module."""
    hook = call.argument(0, "hook")
    if isinstance(call.receiver, Object) and hook is not None:
        call.set(call.receiver, f"#{call.name}", call.listed((*_hooks(call, call.name), hook), part="hooks"))
    return call.new("torch.utils.hooks.RemovableHandle")
