"""Read a specification: YAML or TOML, with what it takes over from a catalogue; or a plain task file.

Nothing is guessed: an unknown id, a duplicate, a circle or an empty criterion is an error with its line and a remedy.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.config.documents import Document, read_toml, read_yaml
from verifygate.model import Deviation
from verifygate.requirements.inherit import catalogue, inherited
from verifygate.requirements.precision_asked import asked_precision, lines_of
from verifygate.requirements.spec import Lines, Requirement, Spec, SpecFile, Specification
from verifygate.requirements.task import is_task, read_task


def read_specification(root: Path, path: str) -> Specification:
    """Read and check the file at `path` below `root`. Raises UsageError, with its line, for whatever is wrong."""
    document = read_toml(root / path, path) if path.lower().endswith(".toml") else read_yaml(root / path, path)
    if is_task(document):
        return read_task(document)
    file = document.validate(SpecFile)
    taken: tuple[Requirement, ...] = ()
    lines: dict[str, Lines] = {}
    deviations: tuple[Deviation, ...] = ()
    if file.extends:
        taken, lines, deviations = inherited(document, file)
    elif file.select or file.override:
        key = "select" if file.select else "override"
        raise UsageError(
            f"`{key}` goes with `extends`", where=document.place((key,)), remedy="add `extends: amp-core`, or remove it"
        )
    _refuse_duplicates(document, file, taken)
    requirements = (*taken, *file.requirements)
    precision = asked_precision(document, file.precision)
    if not requirements and not precision:
        raise UsageError(
            "it holds no requirement",
            where=document.place(("requirements",)),
            remedy="add one below `requirements:`, a row below `precision:`, or `extends: amp-core`",
        )
    for index, requirement in enumerate(file.requirements):
        lines[requirement.id] = Lines(
            line_of(document, "requirements", index, "id"),
            tuple(line_of(document, "requirements", index, "verify", at) for at in range(len(requirement.verify))),
        )
    _refuse_bad_references(document.path, requirements, lines)
    inherits = file.extends and "architecture" not in file.model_fields_set
    spec = Spec(
        title=file.title,
        task=file.task,
        advisory=file.advisory,
        architecture=catalogue(file.extends).architecture if inherits else file.architecture,
        precision=precision,
        gates=file.gates,
        requirements=requirements,
    )
    return Specification(spec, path, lines, file.extends, deviations, lines_of(document, file.precision))


def line_of(document: Document, *where: str | int) -> int:
    """The line of a part, for example `requirements, 2, verify, 0`; of what is around it else; or 1."""
    _, _, line = document.place(where).rpartition(":")
    return int(line) if line.isdigit() else 1


def _refuse_duplicates(document: Document, file: SpecFile, taken: Iterable[Requirement]) -> None:
    """Ids that differ only in case are one id: file systems and readers do not tell them apart."""
    known = {requirement.id.casefold() for requirement in taken}
    first: dict[str, int] = {}
    for index, requirement in enumerate(file.requirements):
        key, here = requirement.id.casefold(), document.place(("requirements", index, "id"))
        if key in known:
            raise UsageError(
                f"the id `{requirement.id}` is one of {file.extends}'s",
                where=here,
                remedy="change that one below `override:`, or give this one another id",
            )
        if key in first:
            earlier = document.place(("requirements", first[key], "id"))
            raise UsageError(
                f"the id `{requirement.id}` is used twice, first at {earlier}",
                where=here,
                remedy="give every requirement its own id",
            )
        first[key] = index


def _refuse_bad_references(path: str, requirements: Iterable[Requirement], lines: Mapping[str, Lines]) -> None:
    """Every id in `depends` is there, and none of them leads back to where it started."""
    graph = {requirement.id: requirement.depends for requirement in requirements}
    for name, wanted in graph.items():
        for other in wanted:
            if other not in graph:
                near = difflib.get_close_matches(other, graph, n=1, cutoff=0.6)
                raise UsageError(
                    f"`{name}` depends on `{other}`, which is not a requirement of this specification",
                    where=f"{path}:{lines[name].requirement}",
                    remedy=f"did you mean `{near[0]}`?" if near else "correct the id, or remove it",
                )
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        raise UsageError(
            f"these requirements depend on each other in a cycle: {' -> '.join(circle)}",
            where=f"{path}:{lines[circle[0]].requirement}",
            remedy="remove one of these dependencies",
        ) from None
