"""Options that calls declare: `add_argument` of argparse, and the `DEFINE_...` of absl's flags."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.programs.option import NOT_KNOWN, Option, Takes, listed_in, literal, type_name, words_of
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name

_SWITCHES = {"store_true": Takes.NOTHING, "store_false": Takes.SWITCHES_OFF, "BooleanOptionalAction": Takes.NOTHING}
_SILENT = frozenset({"help", "version", "count", "append_const", "store_const"})
"""Actions of options that nothing is proposed for."""
_OF_ABSL = {"DEFINE_integer": "int", "DEFINE_float": "float", "DEFINE_string": "str", "DEFINE_bool": "bool",
            "DEFINE_boolean": "bool", "DEFINE_enum": "str"}  # fmt: skip


def declared_by_calls(function: Function) -> Iterator[Option]:
    """The options that the calls of a function declare, where their names are literal."""
    for call in function.calls:
        name = last_name(call.func)
        if name == "add_argument" and isinstance(call.func, ast.Attribute):
            option = _of_argparse(call, function)
        elif name in _OF_ABSL:
            option = _of_absl(call, _OF_ABSL[name], function)
        else:
            continue
        if option is not None:
            yield option


def declared_by_assignments(body: Function) -> Iterator[Option]:
    """The variables of a file that runs `configurator.py` over them, as nanoGPT does: `--max_iters=20` sets one."""
    runs = [call for call in body.calls if last_name(call.func) == "exec" and "configurator.py" in ast.unparse(call)]
    for node in body.of_kind(ast.Assign) if runs else ():
        value = _folded(node.value)
        match node.targets:
            case [ast.Name(id=name)] if isinstance(value, str | int | float) and node.lineno < runs[0].lineno:
                kind = type(value).__name__
                place = (body.module.path, node.lineno)
                yield Option(name, (f"--{name}",), *place, kind=kind, default=value, joined=True)


def _folded(node: ast.expr) -> object:
    """The value of a literal, or of a product of numbers: `5 * 8`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _folded(node.left), _folded(node.right)
        return left * right if isinstance(left, int | float) and isinstance(right, int | float) else NOT_KNOWN
    return literal(node)


def has_sub_commands(function: Function) -> bool:
    """Whether a function makes a parser that asks for a command before its options."""
    return any(last_name(call.func) == "add_subparsers" for call in function.calls)


def _of_argparse(call: ast.Call, function: Function) -> Option | None:
    names = [literal(each) for each in call.args]
    if not names or not all(isinstance(each, str) for each in names):
        return None
    given = {word.arg: word.value for word in call.keywords}
    action = given.get("action")
    how = literal(action) if isinstance(action, ast.Constant) else type_name(action)
    if how in _SILENT:
        return None
    flags = tuple(each for each in names if each.startswith("-"))
    long = next((each for each in flags if each.startswith("--")), names[0])
    number = literal(given.get("nargs"))
    rest = number is NOT_KNOWN or number == "..."  # argparse.REMAINDER: whatever is left, or nothing
    many = number in ("*", "+") or rest
    return Option(
        name=str(literal(given.get("dest")) or long.lstrip("-").replace("-", "_")),
        flags=flags,
        path=function.module.path,
        line=call.lineno,
        takes=_SWITCHES.get(str(how), Takes.MANY if many else Takes.VALUE),
        kind=type_name(given.get("type")),
        choices=words_of(given.get("choices")) or listed_in(literal(given.get("help"))),
        default=literal(given.get("default")),
        required=literal(given.get("required")) is True if flags else number not in ("?", "*") and not rest,
        values=number if isinstance(number, int) else 1,
        shown=str(metavar) if isinstance(metavar := literal(given.get("metavar")), str) else "",
    )


def _of_absl(call: ast.Call, kind: str, function: Function) -> Option | None:
    """`flags.DEFINE_integer("epochs", 10, "help")`; of an enumeration the third argument holds the words."""
    if len(call.args) < 2 or not isinstance(name := literal(call.args[0]), str):
        return None
    given = {word.arg: word.value for word in call.keywords}
    third = call.args[2] if len(call.args) > 2 else given.get("enum_values")
    return Option(
        name=name,
        flags=(f"--{name}",),
        path=function.module.path,
        line=call.lineno,
        takes=Takes.NOTHING if kind == "bool" else Takes.VALUE,
        kind=kind,
        choices=words_of(third) if last_name(call.func) == "DEFINE_enum" else (),
        default=literal(call.args[1]),
        required=literal(given.get("required")) is True,
        joined=True,
    )
