"""Tell an error that a `raise` or an `assert` made from one that the interpreter, or compiled code, met."""

from __future__ import annotations

from opcode import opmap

_RAISE = opmap["RAISE_VARARGS"]


def by_statement(error: BaseException) -> bool:
    """Whether a statement raised it, at the innermost place of its traceback."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and step.tb_lasti >= 0 and step.tb_frame.f_code.co_code[step.tb_lasti] == _RAISE
