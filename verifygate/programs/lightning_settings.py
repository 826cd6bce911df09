"""What `LightningCLI` makes of a program: a sub-command, and arguments of its Trainer, model and data as options."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.programs.option import Option, literal, type_name
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.syntax.names import last_name

_TRAINER = {
    "max_epochs": ("int", 1000, ()),
    "limit_train_batches": ("int", None, ()),
    "precision": ("str", "32-true", ("16-mixed", "bf16-mixed", "32-true")),
}
"""Arguments of Lightning's Trainer that make a run small, by its documentation: type, default, choices."""


def cli_of(functions: Iterable[Function]) -> tuple[ast.Call, Function] | None:
    """The call that makes the command line, `LightningCLI(Model, Data)` or a subclass in the same file."""
    for function in functions:
        for call in function.calls:
            if is_cli(call, function):
                return call, function
    return None


def is_cli(call: ast.Call, function: Function) -> bool:
    """Whether a call is LightningCLI, or a subclass of it in the same file."""
    name = last_name(call.func)
    made = function.module.classes.get(name)
    return name == "LightningCLI" or (made is not None and any(last_name(b) == "LightningCLI" for b in made.node.bases))


def has_sub_command(call: ast.Call) -> bool:
    """Whether `fit` must stand behind the program's name: unless the call has `run=False`."""
    return all(word.arg != "run" or literal(word.value) is not False for word in call.keywords)


def settings_of_lightning(call: ast.Call, function: Function, modules: list[Module]) -> Iterator[Option]:
    """The options of the Trainer, then the parameters of the model's and the data's class."""
    place = (function.module.path, call.lineno)
    for name, (kind, default, choices) in _TRAINER.items():
        yield Option(name, (f"--trainer.{name}",), *place, kind=kind, choices=choices, default=default, joined=True)
    yield Option("output_dir", ("--trainer.default_root_dir",), *place, kind="str", default=".", joined=True)
    given = {word.arg: word.value for word in call.keywords}
    for at, (part, word) in enumerate((("model", "model_class"), ("data", "datamodule_class"))):
        expr = call.args[at] if at < len(call.args) else given.get(word)
        if expr is None:
            yield Option(part, (f"--{part}",), *place, kind="str", required=part == "model")
            continue
        name = last_name(expr)
        made = next((module.classes[name] for module in modules if name in module.classes), None)
        if made is not None:
            yield from _parameters(made, part)


def _parameters(made: Class, part: str) -> Iterator[Option]:
    """One option for each parameter of a class: `--model.width`."""
    init = made.methods.get("__init__")
    for parameter in init.parameters[1:] if init is not None else ():
        default = init.default(parameter.arg) if init is not None else None
        value = literal(default)
        kind = type_name(parameter.annotation) or ("" if value is None else type(value).__name__)
        yield Option(
            parameter.arg, (f"--{part}.{parameter.arg}",), made.module.path, parameter.lineno, kind=kind, default=value,
            required=default is None, joined=True,
        )  # fmt: skip
