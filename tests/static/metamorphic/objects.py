"""Ways to hold the objects of a training loop, and to call its steps: none changes what it does.

Containers, names that are bound again, hooks and callbacks, phases, words that mislead, and classes over several files.
Every program keeps a function `train` in train.py, so that it can be run beside the loop as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst
import libcst.matchers as m
from rewriting import (
    Loop,
    Names,
    Program,
    Renamed,
    Returning,
    Statement,
    block,
    code,
    each,
    function,
    program,
    statement,
)
from transformations import Meaningless, Transformation, trainer, unchanging

# --- containers


def replaced(
    loop: Loop, setup: Sequence[str], names: dict[str, str], *, before: str = "", imports: str = ""
) -> Program:
    """The loop with statements behind its set-up, and other expressions for what that made."""
    return loop.having(
        setup=[*loop.setup, *(statement(f"{line}\n") for line in setup)],
        body=each(loop.body, Renamed(names)),
        before=[statement(before)] if before else [],
        imports=[statement(f"{imports}\n")] if imports else [],
    )


def state_in_list(loop: Loop) -> Program:
    """Optimizers and scaler are elements of a list."""
    fields = unchanging(loop)
    names = {name: f"state[{at}]" for at, name in enumerate(fields)}
    return replaced(loop, [f"state = [{', '.join(fields)}]"], names)


def state_in_namedtuple(loop: Loop) -> Program:
    """Optimizers and scaler are fields of a named tuple."""
    fields = unchanging(loop)
    declared = "class State(NamedTuple):\n" + "".join(f"    {name}: object\n" for name in fields)
    names = {name: f"state.{name}" for name in fields}
    made = [f"state = State({', '.join(fields)})"]
    return replaced(loop, made, names, before=declared, imports="from typing import NamedTuple")


def state_by_variable_key(loop: Loop) -> Program:
    """Optimizers and scaler are values of a dict, read by keys that are variables."""
    fields = unchanging(loop)
    keys = [f"key{at} = {name!r}" for at, name in enumerate(fields)]
    made = f"state = {{{', '.join(f'{name!r}: {name}' for name in fields)}}}"
    return replaced(loop, [*keys, made], {name: f"state[key{at}]" for at, name in enumerate(fields)})


def state_unpacked_each_time(loop: Loop) -> Program:
    """Optimizers and scaler come out of a tuple in every iteration."""
    fields = unchanging(loop)
    others = {name: f"its_{name}" for name in fields}
    body = [statement(f"({', '.join(others.values())},) = state\n"), *each(loop.body, Renamed(others))]
    return loop.having(setup=[*loop.setup, statement(f"state = ({', '.join(fields)},)\n")], body=body)


def optimizers(loop: Loop) -> list[str]:
    """The names of the optimizers that the set-up makes."""
    return [
        code(node.targets[0].target)
        for line in loop.setup
        for node in m.findall(line, m.Assign())
        if code(node).split("=", 1)[1].strip().startswith("torch.optim.")
    ]


class OverAll(cst.CSTTransformer):
    """A statement about the one optimizer becomes a loop over the values of a dict."""

    def __init__(self, optimizer: str) -> None:
        self.optimizer = optimizer

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.For:
        if self.optimizer not in Names(updated_node).read or Names(updated_node).assigned:
            return updated_node
        inside = cst.ensure_type(updated_node.visit(Renamed({self.optimizer: "each"})), cst.SimpleStatementLine)
        head = cst.ensure_type(statement("for each in optimizers.values():\n    pass\n"), cst.For)
        return head.with_changes(body=block([inside]))


def optimizers_by_values(loop: Loop) -> Program | None:
    """Every statement about the optimizer goes over a dict of one."""
    if len(names := optimizers(loop)) != 1:
        return None
    setup = [*loop.setup, statement(f"optimizers = {{'all': {names[0]}}}\n")]
    return loop.having(setup=setup, body=each(loop.body, OverAll(names[0])))


class OverAllAtOnce(cst.CSTTransformer):
    """A statement about the one optimizer becomes a comprehension over the values of a dict."""

    def __init__(self, optimizer: str) -> None:
        self.optimizer = optimizer

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.Expr:
        if self.optimizer not in Names(updated_node).read:
            return updated_node
        inside = code(updated_node.visit(Renamed({self.optimizer: "each"})))
        return cst.Expr(cst.parse_expression(f"[{inside} for each in optimizers.values()]"))


def optimizers_by_comprehension(loop: Loop) -> Program | None:
    """The same in a comprehension whose result nobody takes: `[each.step() for each in optimizers.values()]`."""
    if len(names := optimizers(loop)) != 1:
        return None
    setup = [*loop.setup, statement(f"optimizers = {{'all': {names[0]}}}\n")]
    return loop.having(setup=setup, body=each(loop.body, OverAllAtOnce(names[0])))


def models_in_dict(loop: Loop) -> Program:
    """The models are values of a dict."""
    models = [name for name in loop.parameters if name in ("model", "critic", "maker")]
    made = f"models = {{{', '.join(f'{name!r}: {name}' for name in models)}}}\n"
    use = Renamed({name: f"models[{name!r}]" for name in models})
    return loop.having(setup=[statement(made), *each(loop.setup, use)], body=each(loop.body, use))


# --- names bound again


def bound_again_each_time(loop: Loop) -> Program:
    """Every iteration gives the optimizers and the scaler names of its own."""
    others = {name: f"its_{name}" for name in unchanging(loop)}
    aliases = [statement(f"{new} = {name}\n") for name, new in others.items()]
    return loop.having(body=[*aliases, *each(loop.body, Renamed(others))])


class InTurn(cst.CSTTransformer):
    """`current = optimizer` stands before every statement about one optimizer."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.BaseStatement]:
        found = [name for name in self.names if name in Names(updated_node).read]
        if len(found) != 1:
            return updated_node
        use = cst.ensure_type(updated_node.visit(Renamed({found[0]: "current"})), cst.SimpleStatementLine)
        return cst.FlattenSentinel([statement(f"current = {found[0]}\n"), use])


def one_name_in_turn(loop: Loop) -> Program:
    """One name is bound to one optimizer after the other."""
    return loop.having(body=each(loop.body, InTurn(optimizers(loop))))


def names_swapped(loop: Loop) -> Program | None:
    """The optimizer and the scaler exchange their names behind the set-up."""
    if "scaler" not in loop.made:
        return None
    other = optimizers(loop)[0]
    swap = statement(f"{other}, scaler = scaler, {other}\n")
    return loop.having(setup=[*loop.setup, swap], body=each(loop.body, Renamed({other: "scaler", "scaler": other})))


# --- hooks and callbacks


def tail(loop: Loop, *, own: bool = False) -> tuple[list[Statement], list[Statement]]:
    """The body up to its last statements that only call something, and those.

    `own` asks that they need nothing but what was there before the loop.
    """
    outside = {*loop.parameters, *loop.made}
    body = loop.body
    at = len(body)
    while at:
        node = body[at - 1]
        calls = (
            isinstance(node, cst.SimpleStatementLine) and not Names(node).assigned and m.matches(node.body[0], m.Expr())
        )
        if not calls or (own and not set(Names(node).read) <= outside):
            break
        at -= 1
    return body[:at], body[at:]


Wrap = Callable[[Loop, list[Statement], list[Statement]], Program | None]


def hooked(wrap: Wrap, *, least: int = 2, own: bool = False) -> Callable[[Loop], Program | None]:
    def make(loop: Loop) -> Program | None:
        start, rest = tail(loop, own=own)
        return wrap(loop, start, rest) if len(rest) >= least else None

    make.__name__ = wrap.__name__
    make.__doc__ = wrap.__doc__
    return make


def hooks_in_list(loop: Loop, start: list[Statement], rest: list[Statement]) -> Program:
    """The last calls are functions in a list, with their arguments bound by functools.partial."""
    made = [loop.helper(f"hook{at}", [node]) for at, node in enumerate(rest)]
    bound = ", ".join(code(use).replace("(", ", ", 1).join(("partial(", "")) for _, use in made)
    body = [*start, statement(f"for hook in [{bound}]:\n    hook()\n")]
    imports = [statement("from functools import partial\n")]
    return loop.having(body=body, before=[each for each, _ in made], imports=imports)


def lambdas_in_list(loop: Loop, start: list[Statement], rest: list[Statement]) -> Program:
    """The last calls are lambdas in a list, each on a line of its own."""
    lines = "".join(f"    lambda: {written(node)},{comment(node)}\n" for node in rest)
    return loop.having(body=[*start, statement(f"for action in [\n{lines}]:\n    action()\n")])


def callbacks_in_list(loop: Loop, start: list[Statement], rest: list[Statement]) -> Program:
    """The last calls are callbacks, an object each, that are given the state of the loop."""
    names = [name for name in Names(*rest).read if name != "loss_fn"]
    own = Renamed({name: f"state.{name}" for name in names})
    classes = [callback(f"Callback{at}", {"run": [node]}, own) for at, node in enumerate(rest)]
    return loop.having(
        body=[
            *start,
            statement(f"state = SimpleNamespace({', '.join(f'{name}={name}' for name in names)})\n"),
            statement("for callback in callbacks:\n    callback.run(state)\n"),
        ],
        setup=[*loop.setup, statement(f"callbacks = [{', '.join(f'Callback{at}()' for at in range(len(rest)))}]\n")],
        before=classes,
        imports=[statement("from types import SimpleNamespace\n")],
    )


def callbacks_by_name(loop: Loop, start: list[Statement], rest: list[Statement]) -> Program:
    """The last calls are methods of one object, taken by `getattr`."""
    names = [name for name in Names(*rest).read if name != "loss_fn"]
    own = Renamed({name: f"state.{name}" for name in names})
    methods = {f"on_{at}": [node] for at, node in enumerate(rest)}
    events = ", ".join(repr(name) for name in methods)
    return loop.having(
        body=[
            *start,
            statement(f"state = SimpleNamespace({', '.join(f'{name}={name}' for name in names)})\n"),
            statement(f"for event in ({events},):\n    getattr(callback, event)(state)\n"),
        ],
        setup=[*loop.setup, statement("callback = Callback()\n")],
        before=[callback("Callback", methods, own)],
        imports=[statement("from types import SimpleNamespace\n")],
    )


def callback(name: str, methods: dict[str, list[Statement]], own: Renamed) -> cst.ClassDef:
    made = cst.ensure_type(statement(f"class {name}:\n    pass\n"), cst.ClassDef)
    return made.with_changes(
        body=block([function(verb, ["self", "state"], each(body, own)) for verb, body in methods.items()])
    )


def written(node: Statement) -> str:
    """The expression of a statement, without its comment."""
    return code(cst.ensure_type(cst.ensure_type(node, cst.SimpleStatementLine).body[0], cst.Expr).value)


def comment(node: Statement) -> str:
    found = cst.ensure_type(node, cst.SimpleStatementLine).trailing_whitespace.comment
    return f"  {found.value}" if found else ""


def ended_by_context(loop: Loop, start: list[Statement], rest: list[Statement]) -> Program | None:
    """The last calls stand behind the `yield` of a context manager."""
    if any(m.findall(node, m.Continue()) for node in start):  # it would not leave them out
        return None
    names = [name for name in Names(*rest).read if name in {*loop.parameters, *loop.made}]
    manager = function("ending", names, [statement("yield\n"), *rest]).with_changes(
        decorators=[cst.Decorator(cst.Name("contextmanager"))]
    )
    opened = cst.ensure_type(statement(f"with ending({', '.join(names)}):\n    pass\n"), cst.With)
    return loop.having(
        body=[opened.with_changes(body=block(start))],
        before=[manager],
        imports=[statement("from contextlib import contextmanager\n")],
    )


# --- phases


def phase_called_twice(loop: Loop) -> Program:
    """The loop is a function that gets its objects, called for six batches, then the rest: no window is cut."""
    given = [*loop.parameters, *unchanging(loop)]
    rebound = [name for name in loop.made if name not in given]
    setup = [line for line in loop.setup if set(Names(line).assigned) & set(rebound)]
    phase = function("phase", given, [*setup, loop.head])
    calls = [
        statement(f"phase({', '.join(f'batches[{part}]' if name == 'batches' else name for name in given)})\n")
        for part in (": 6", "6 :")
    ]
    return loop.having(loop=calls, before=[phase])


def trained_twice(loop: Loop) -> Program:
    """Everything is made and run twice."""
    phase = loop.train().with_changes(name=cst.Name("phase"))
    again = f"phase({', '.join(loop.parameters)})"
    both = function("train", loop.parameters, [statement(f"{again}\n"), statement(f"return {again}\n")])
    return program(train=[*loop.imports, phase, both])


def two_trainers(loop: Loop) -> Program:
    """A class is instantiated twice."""
    build = f"Trainer({', '.join(loop.parameters)})"
    lines = ("first = " + build, "first.train()", "second = " + build, "return second.train()")
    both = function("train", loop.parameters, [statement(f"{line}\n") for line in lines])
    return program(train=[*loop.imports, trainer(loop, by_methods=True), both])


TWICE = ("trained_twice", "two_trainers")
"""What runs the loop two times, one after the other."""

# --- words

WORDS = {
    "roles": ("scheduler", "scale", "output", "loss_fn", "optimizer", "model", "scaler", "grad", "inputs", "clip"),
    "flags": ("skip", "bad", "spike", "use_amp", "enabled", "skip_optimizer_step", "found_inf", "is_last", "no_sync"),
    "steps": ("zero_grad", "unscale_", "update", "backward", "clip_grad", "step", "accumulate", "ema", "penalty"),
}
"""Words that say something, of something else."""


def worded(kind: str) -> Transformation:
    def make(loop: Loop) -> Program:
        return {path: reworded(text, loop, kind) for path, text in loop.having().items()}

    make.__name__ = f"worded_as_{kind}"
    return make


def variables(loop: Loop) -> list[str]:
    names = [*loop.made, *Names(*loop.body).assigned, *Names(loop.head.target).read, *loop.parameters]
    return list(dict.fromkeys(names))


class Reworded(Meaningless):
    """Gives variables other names, and no attribute."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)


def reworded(text: str, loop: Loop, kind: str) -> str:
    names = variables(loop)
    words = [*WORDS[kind], *(f"value{at}" for at in range(len(names)))]
    return cst.parse_module(text).visit(Reworded(dict(zip(names, words, strict=False)))).code


def names_rotated(loop: Loop) -> Program:
    """Every variable has the name of the next one."""
    names = variables(loop)
    turned = Reworded(dict(zip(names, [*names[1:], names[0]], strict=True)))
    return {path: cst.parse_module(text).visit(turned).code for path, text in loop.having().items()}


# --- over several files


def class_of(name: str, methods: Sequence[Statement], bases: str = "") -> cst.ClassDef:
    made = cst.ensure_type(statement(f"class {name}({bases}):\n    pass\n"), cst.ClassDef)
    return made.with_changes(body=block(methods))


def parts_of_trainer(loop: Loop) -> tuple[Statement, Statement, Statement]:
    """The methods of a trainer: `__init__`, `one_batch`, `train`."""
    first, second, third = trainer(loop, by_methods=True).body.body
    return first, second, third  # type: ignore[return-value]


def started(loop: Loop, name: str) -> cst.FunctionDef:
    return function("train", loop.parameters, [statement(f"return {name}({', '.join(loop.parameters)}).train()\n")])


def template_method(loop: Loop) -> Program:
    """The base class, in another file, has the loop; the batch is the subclass's."""
    setup, batch, train = parts_of_trainer(loop)
    derived = class_of("Trainer", [batch], "Base")
    above = [*loop.imports, statement("from engine.base import Base\n")]
    made = program(train=[*above, derived, started(loop, "Trainer")])
    return made | {
        "engine/__init__.py": "",
        "engine/base.py": cst.Module([*loop.imports, class_of("Base", [setup, train])]).code,
    }


def mixin_in_other_file(loop: Loop) -> Program:
    """The batch is a method of a mixin."""
    setup, batch, train = parts_of_trainer(loop)
    derived = class_of("Trainer", [setup, train], "BatchMixin")
    above = [*loop.imports, statement("from mixins import BatchMixin\n")]
    return program(
        train=[*above, derived, started(loop, "Trainer")],
        mixins=[*loop.imports, class_of("BatchMixin", [batch])],
    )


def steps_in_package(loop: Loop, start: list[Statement], rest: list[Statement]) -> Program:
    """The last calls are functions of a package, a module each, that its __init__ exports."""
    made = [loop.helper(f"part{at}", [node]) for at, node in enumerate(rest)]
    exported = ", ".join(f"part{at}" for at in range(len(made)))
    text = loop.having(body=[*start, *(use for _, use in made)], imports=[statement(f"from parts import {exported}\n")])
    inits = "".join(f"from .module{at} import part{at}\n" for at in range(len(made)))
    modules = {f"parts/module{at}.py": cst.Module([*loop.imports, helper]).code for at, (helper, _) in enumerate(made)}
    return text | modules | {"parts/__init__.py": inits}


def nested_helpers_over_files(loop: Loop) -> Program:
    """The batch is a function in one file, which a function in another one calls."""
    helper, use = loop.helper("one_batch", loop.body)
    inner = [*loop.imports, helper.with_changes(body=block(each(helper.body.body, Returning())))]
    names = [code(each.name) for each in helper.params.params]
    results = code(use).split(" = ")[0] if " = " in code(use) else ""
    outer = function("work", names, [statement(f"return deep.one_batch({', '.join(names)})\n")])
    call = f"{f'{results} = ' if results else ''}work({', '.join(names)})\n"
    text = loop.having(body=[statement(call)], imports=[statement("from outer import work\n")])
    return text | program(deep=inner, outer=[statement("import deep\n"), outer])


OBJECTS: dict[str, Transformation] = {
    made.__name__: made
    for made in (
        state_in_list,
        state_in_namedtuple,
        state_by_variable_key,
        state_unpacked_each_time,
        optimizers_by_values,
        optimizers_by_comprehension,
        models_in_dict,
        bound_again_each_time,
        one_name_in_turn,
        names_swapped,
        hooked(hooks_in_list),
        hooked(lambdas_in_list),
        hooked(callbacks_in_list),
        hooked(callbacks_by_name),
        hooked(ended_by_context, own=True),
        phase_called_twice,
        trained_twice,
        two_trainers,
        worded("roles"),
        worded("flags"),
        worded("steps"),
        names_rotated,
        template_method,
        mixin_in_other_file,
        hooked(steps_in_package),
        nested_helpers_over_files,
    )
}
