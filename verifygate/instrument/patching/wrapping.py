"""Put a function of ours around one of torch's so that the subject cannot tell.

A wrapper calls the original with what it was given and returns, or raises, what the original did. What looks on runs
before and after it, not around it: none of its frames is on the stack of the original, and an error of its own is
kept away from the subject. The wrapper's code bears a file name that `warnings.warn` takes for the import system's,
so `stacklevel` counts as if the wrapper were not there. Code that torch.compile traces goes straight to the original.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..launch import UNSEEN

After = Callable[[Any, BaseException | None], None]
Before = Callable[[tuple[Any, ...], dict[str, Any]], After | None]
"""Looks at the arguments; returns what looks at the result (or the error), or None."""
OnError = Callable[[Exception], None]


def wrapped(original: Callable[..., Any], before: Before, on_error: OnError) -> Callable[..., Any]:
    """`original`, with `before` called before it and what that returns called after it."""
    import torch

    compiling = torch.compiler.is_compiling

    def begin(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> After | None:
        try:
            return before(arguments, keywords)
        except Exception as error:
            on_error(error)
            return None

    def end(after: After, result: object, raised: BaseException | None) -> None:
        try:
            after(result, raised)
        except Exception as error:
            on_error(error)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if compiling():
            return original(*args, **kwargs)
        after = begin(args, kwargs)
        if after is None:
            return original(*args, **kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            end(after, None, error)
            raise
        end(after, result, None)
        return result

    wrapper.__code__ = wrapper.__code__.replace(co_filename=UNSEEN)
    return functools.wraps(original)(wrapper)


def replace(owner: Any, name: str, before: Before, on_error: OnError) -> None:
    """Wrap an attribute of a class or a module, where it is there and not wrapped yet."""
    original = owner.__dict__.get(name)
    if original is not None and getattr(original, "__code__", None) is not None and not is_ours(original):
        setattr(owner, name, wrapped(original, before, on_error))


def replace_around(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace an attribute by `around(original, *arguments, **keywords)`, which decides what the original is passed.

    For who changes what a run does, under torch.compile too; who only watches uses `replace`, which keeps its errors
    from the subject.
    """
    original = getattr(owner, name)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    setattr(owner, name, functools.wraps(original)(wrapper))


def replace_operator(owner: Any, name: str, before: Before, on_error: OnError, *, beside: bool = False) -> None:
    """Wrap an operator, as a method of Tensor or a function of torch, where it is there; `beside` another watch, too.

    Tensor subclasses, modes and torch.fx are handed what stands under the public name, and TorchScript its operator.
    """
    from torch.jit import _builtins
    from torch.overrides import handle_torch_function, has_torch_function

    original = getattr(owner, name, None)
    if original is None or (is_ours(original) and not beside):
        return
    watched = wrapped(original, before, on_error)

    def operator(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if has_torch_function(args):
            return handle_torch_function(face, args, *args, **kwargs)
        return watched(*args, **kwargs)

    operator.__code__ = operator.__code__.replace(co_filename=UNSEEN)
    face = functools.wraps(original)(operator)
    setattr(owner, name, face)
    find: Any = _builtins._find_builtin
    _builtins._register_builtin(face, find(original) or f"aten::{name}")


def is_ours(function: object) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == UNSEEN
