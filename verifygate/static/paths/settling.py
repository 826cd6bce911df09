"""What would settle the assumption of an error path: an annotation, or a run and the conditions that it needs."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterable

from verifygate.base.records import record, replace
from verifygate.static.lowering.event_graph import Escape
from verifygate.static.paths import assumptions
from verifygate.static.paths.error_path import ErrorPath
from verifygate.static.symbols.import_graph import ImportGraph
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function, Module

MOST_CONDITIONS = 3
_BY_RUN = frozenset({
    assumptions.NOT_FOLLOWED, assumptions.ONE_OF_SEVERAL, assumptions.TWO_NAMES, assumptions.READ_ALIKE,
    assumptions.BY_NAME, assumptions.ONE_OBJECT, assumptions.AS_CONFIGURED, assumptions.AS_DECIDED,
    assumptions.LEFT_BEHIND, assumptions.HANDED_IN,
})  # fmt: skip
"""What a recorded run shows. Whether a run meets an inf is chance, and what a loop is meant for no run says."""


@record
class Settling:
    """What would show whether an assumption holds."""

    by_run: bool = False
    """Whether a recorded run would show it."""
    given: tuple[str, ...] = ()
    """What has to hold in that run: `args.amp` true."""
    call: Location | None = None
    """The call that could not be followed."""
    annotation: str = ""
    """What to annotate, and with which class."""
    run: str = ""
    """The command of that run, where it is known."""


NOTHING_SETTLES = Settling()


def settling_of(assumes: str, path: ErrorPath) -> Settling:
    """What would settle an assumption of an error path."""
    if assumes not in _BY_RUN:
        return NOTHING_SETTLES
    if assumes in (assumptions.AS_CONFIGURED, assumptions.AS_DECIDED):
        return Settling(by_run=True, given=_conditions(path))
    return Settling(by_run=True, call=_not_followed(path) if assumes == assumptions.NOT_FOLLOWED else None)


def located(settling: Settling, above: Iterable[Function], modules: Iterable[Module], imports: ImportGraph) -> Settling:
    """The same with the annotation and the command, where the project has one class and one program for them.

    `above` are the functions that come to the path.
    """
    annotation = _annotation(settling.call, modules) if settling.call is not None else ""
    run = _command(above, imports) if settling.by_run else ""
    given = " and ".join(settling.given)
    return replace(settling, annotation=annotation, run=f"{run}, with {given}" if run and given else run)


def _command(above: Iterable[Function], imports: ImportGraph) -> str:
    outermost = [each for each in above if not each.symbol or each.name.startswith("test")]
    tests = sorted({each.module.path for each in outermost if each.symbol and each.module.file.is_test})
    bodies = (each.module.file for each in outermost if not each.symbol)
    bodies = (file for file in bodies if not file.is_test and (file.is_script or not imports.is_imported(file.path)))
    programs = {file.path: file for file in bodies}
    if len(programs) == 1:
        ((path, file),) = programs.items()
        as_file = path.endswith(".py") and not file.is_relative  # else it starts in a way that nothing here says
        return f"`verifygate probe -- python {shlex.quote(path)}`" if as_file else ""
    return f"`pytest --verifygate {shlex.quote(tests[0])}`" if tests and not programs else ""


def _conditions(path: ErrorPath) -> tuple[str, ...]:
    """The decisions on the path that a person can bring about, the last ones."""
    found: dict[str, bool] = {}
    for number, (atom, truth) in path.decisions():
        if atom.loop is None and not path.checks_finite(number):
            text = atom.text
            for home in sorted({each.root.home for each in atom.mentions} - {""}, key=len, reverse=True):
                text = text.replace(f"{home}:", "")
            found[text] = truth
    return tuple(f"`{text}` {'true' if truth else 'false'}" for text, truth in found.items())[-MOST_CONDITIONS:]


def _not_followed(path: ErrorPath) -> Location | None:
    nodes = (path.graph.nodes[number] for number in path.numbers)
    return next((node.place for node in nodes if isinstance(node.payload, Escape)), None)


def _annotation(place: Location, modules: Iterable[Module]) -> str:
    """Of a call of a method of a parameter without an annotation: the one class that has such a method."""
    call = place.node
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return ""
    receiver, method = call.func.value, call.func.attr
    parameters = {each.arg: each for each in place.function.parameters}
    given = parameters.get(receiver.id) if isinstance(receiver, ast.Name) else None
    if given is None or given.annotation is not None:
        return ""
    classes = [each for module in modules for each in module.classes.values() if method in each.methods]
    if len(classes) != 1:
        return ""
    where = f"{place.function.module.path}:{given.lineno}"
    return f"annotate `{given.arg}` ({where}), with `{classes[0].node.name}` if that is what it is"
