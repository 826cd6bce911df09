"""Options that a signature or a class declares: click, typer, tyro, simple-parsing, fire, and Hugging Face's parser."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from verifygate.programs.option import NOT_KNOWN, Option, Takes, choices_of, literal, type_name, words_of
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import last_name

_OF_JSONARGPARSE = frozenset({"jsonargparse.CLI", "jsonargparse.auto_cli", "auto_cli"})
"""Those that take `--amp=true`, and what has no default as a positional argument."""
_OF_FUNCTIONS = frozenset({"typer.run", "tyro.cli", "fire.Fire", "defopt.run"}) | _OF_JSONARGPARSE
"""Calls that make a command line of the function or class that they are given."""
_OF_CLASSES = frozenset({"HfArgumentParser", "add_arguments", "parse"})
_UNDERSCORES = frozenset({"HfArgumentParser", "add_arguments", "Fire", "parse"})
"""Those that write a flag as the name is written; the others write `-` for `_`, and read both."""
_FACTORIES = frozenset({"field", "Option", "arg", "Argument", "mutable_field", "list_field"})


def declared_by_signatures(function: Function, functions: tuple[Function, ...]) -> Iterator[Option]:
    """The options that the decorators of a function declare, and what it hands to a maker of command lines."""
    for decorator in getattr(function.node, "decorator_list", ()):
        if isinstance(decorator, ast.Call) and last_name(decorator.func) in ("option", "argument"):
            if (option := _of_click(decorator, function)) is not None:
                yield option
        elif _is_typer(decorator, function):
            yield from _of_parameters(function)
    for call in function.calls:
        for expr in _made_of(call):
            for each in expr.elts if isinstance(expr, ast.Tuple | ast.List) else [expr]:
                underscores = last_name(call.func) in _UNDERSCORES
                found = _of_name(each, function, functions, underscores=underscores)
                yield from map(_of_jsonargparse, found) if _dotted(call.func) in _OF_JSONARGPARSE else found


def _of_jsonargparse(option: Option) -> Option:
    if option.required:
        return replace(option, flags=(), takes=Takes.VALUE)
    return replace(option, flags=(f"--{option.name}",), takes=Takes.VALUE, joined=True)


def _dotted(func: ast.expr) -> str:
    return f"{last_name(func.value)}.{func.attr}" if isinstance(func, ast.Attribute) else last_name(func)


def _made_of(call: ast.Call) -> list[ast.expr]:
    """What a call makes a command line of."""
    func = call.func
    if _dotted(func) in _OF_FUNCTIONS or last_name(func) in _OF_CLASSES:
        return call.args[:1] + [word.value for word in call.keywords if word.arg == "config_class"]
    return []


def _of_name(
    expr: ast.expr, function: Function, functions: tuple[Function, ...], *, underscores: bool
) -> Iterator[Option]:
    name = last_name(expr)
    home = next((each for each in functions if each.symbol == name), None) or function.module.functions.get(name)
    if home is not None:
        options = list(_of_parameters(home))
    else:
        modules = dict.fromkeys((function.module, *(each.module for each in functions)))
        made = next((module.classes[name] for module in modules if name in module.classes), None)
        options = list(_of_fields(made)) if made is not None else list(_of_library(name, expr, function))
    for each in options:
        yield replace(each, flags=(f"--{each.name}",)) if underscores and each.flags else each


# --- click, typer


def _of_click(call: ast.Call, function: Function) -> Option | None:
    """`@click.option("--epochs", default=10, type=int)`, `@click.argument("data")`."""
    names = [each for node in call.args if isinstance(each := literal(node), str)]
    if not names:
        return None
    given = {word.arg: word.value for word in call.keywords}
    flags = [each for each in names if each.startswith("-")]
    long = next((each for each in flags if each.startswith("--")), names[0])
    on = long.partition("/")[0]
    kind = given.get("type")
    choices = words_of(kind.args[0]) if isinstance(kind, ast.Call) and kind.args else ()
    is_switch = literal(given.get("is_flag")) is True or "/" in long
    positional = last_name(call.func) == "argument"
    default = literal(given.get("default"))
    return Option(
        name=next((each for each in names if not each.startswith("-")), on.lstrip("-")).replace("-", "_"),
        flags=() if positional else (on,),
        path=function.module.path,
        line=call.lineno,
        takes=Takes.NOTHING if is_switch else Takes.VALUE,
        kind=type_name(kind.func if isinstance(kind, ast.Call) else kind) or _kind_of(default),
        choices=choices,
        default=default,
        required=literal(given.get("required")) is not False and default is None
        if positional
        else literal(given.get("required")) is True,
        values=number if isinstance(number := literal(given.get("nargs")), int) and number > 0 else 1,
    )


def _is_typer(decorator: ast.expr, function: Function) -> bool:
    """Whether typer makes a command of a function: `@app.command()`."""
    made = decorator.func if isinstance(decorator, ast.Call) else decorator
    return last_name(made) == "command" and isinstance(made, ast.Attribute) and function.module.mentions(b"typer")


def _of_parameters(function: Function) -> Iterator[Option]:
    """One option for each parameter: with `-` for `_`, as typer and tyro write them."""
    for parameter in function.parameters:
        if parameter.arg in ("self", "cls", "ctx"):
            continue
        default = function.default(parameter.arg)
        place = (function.module.path, parameter.lineno)
        yield _declared(_Field(parameter.arg, parameter.annotation, default), place)


# --- dataclasses


def _of_fields(made: Class) -> Iterator[Option]:
    """One option for each field of a dataclass."""
    for node in made.node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield _declared(_Field(node.target.id, node.annotation, node.value), (made.module.path, node.lineno))


@dataclass(frozen=True)
class _Field:
    """A parameter or a field."""

    name: str
    annotation: ast.expr | None
    value: ast.expr | None


def _declared(field: _Field, place: tuple[str, int]) -> Option:
    value, flags, required = field.value, (f"--{field.name.replace('_', '-')}",), field.value is None
    extra = value if isinstance(value, ast.Call) and last_name(value.func) in _FACTORIES else _annotated(field)
    if extra is not None:
        given = {word.arg: word.value for word in extra.keywords}
        own = [each for node in extra.args if isinstance(each := literal(node), str) and each.startswith("--")]
        flags = (own[0].partition("/")[0],) if own else flags
        first = extra.args[0] if extra.args and extra is value and not own else None
        if extra is value:
            value = given.get("default", first)
            required = (value is None and "default_factory" not in given) or (
                isinstance(value, ast.Constant) and value.value is Ellipsis
            )
    default = literal(value)
    kind = type_name(field.annotation) or _kind_of(default)
    positional = extra is not None and last_name(extra.func) == "Argument"
    return Option(
        name=field.name,
        flags=() if positional else flags,
        path=place[0],
        line=place[1],
        takes=Takes.NOTHING if kind == "bool" else Takes.MANY if kind in ("list", "List", "tuple") else Takes.VALUE,
        kind=kind,
        choices=choices_of(field.annotation),
        default=default,
        required=required,
    )


def _annotated(field: _Field) -> ast.Call | None:
    """The call in `Annotated[int, typer.Option("--epochs")]`."""
    match field.annotation:
        case ast.Subscript(value=outer, slice=ast.Tuple(elts=[_, *rest])) if type_name(outer) == "Annotated":
            return next((each for each in rest if isinstance(each, ast.Call)), None)
    return None


def _kind_of(default: object) -> str:
    return "" if default is None or default is NOT_KNOWN else type(default).__name__


# --- what a library declares

_TRAINING_ARGUMENTS = {
    "output_dir": ("str", None), "num_train_epochs": ("float", 3.0), "max_steps": ("int", -1),
    "per_device_train_batch_size": ("int", 8), "per_device_eval_batch_size": ("int", 8),
    "dataloader_num_workers": ("int", 0), "fp16": ("bool", False),
}  # fmt: skip
"""Options of transformers' `TrainingArguments` that make a run small, by its documentation."""


def _of_library(name: str, expr: ast.expr, function: Function) -> Iterator[Option]:
    if not name.endswith("TrainingArguments") or not function.module.mentions(b"transformers"):
        return
    for option, (kind, default) in _TRAINING_ARGUMENTS.items():
        takes = Takes.NOTHING if kind == "bool" else Takes.VALUE
        yield Option(
            option, (f"--{option}",), function.module.path, expr.lineno, takes, kind, (), default,
            required=option == "output_dir",
        )  # fmt: skip
