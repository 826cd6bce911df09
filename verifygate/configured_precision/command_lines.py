"""The command lines in files that start programs: shell, make, just, Docker, Compose, Slurm and CI.

A line has the text that the shell would see, as far as the file says it: variables that are set once, to a literal, are
put in; the parts of a command that Docker and Compose take apart are put together.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from verifygate.configured_precision.commands import logical_lines
from verifygate.sources.configuration_file import ConfigurationFile

_ASSIGNED = re.compile(
    r"^\s*(?:(?:export|readonly|local|declare|override|ENV|ARG)\s+)*(?P<name>[A-Za-z_]\w*)"
    r"(?P<sign>\s*(?:::?|\?|\+)?=\s*)(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"';&|]*)\s*$"
)
"""`NAME=value`, `NAME := value`, `ENV NAME=value`; nothing may stand behind it."""
_SET_ELSEWHERE = re.compile(r"\b(?:for|read(?:\s+-\w+)*|getopts\s+\S+)\s+(?P<name>[A-Za-z_]\w*)\b")
_INCLUDED = re.compile(r"^\s*(?:-?include|sinclude|source|\.|import)\s+[\"']?(?P<file>[^\s\"'$]+)")
_VARIABLE = re.compile(
    r"\$\{(?P<braced>\w+)\}|\$\((?P<made>\w+)\)|\$(?P<plain>[A-Za-z_]\w*)|\{\{\s*(?P<just>\w+)\s*\}\}"
    r"|\$\{(?P<name>\w+):?-(?P<default>[^${}]*)\}"
)
_DOCKER = re.compile(r"^\s*(?P<what>ENTRYPOINT|CMD)\s+(?P<words>\[.*\])\s*$")
_COMPOSE = re.compile(r"(?:^|/)(?:docker-)?compose[^/]*\.ya?ml$")
_OF_A_CONTAINER = ("entrypoint", "command")
_MAX_LINE = 8 * 1024
"""A longer line is none that somebody launches a training by."""
_DEPTH = 3
"""How many files deep variables are looked for."""


class CommandLine(NamedTuple):
    """One command line."""

    parts: list[tuple[int, str]]
    """Its text, by the line of the file that it stands on."""
    default: str = ""
    """A variable in it of which the file says only the default."""

    @property
    def text(self) -> str:
        return " ".join(part for _, part in self.parts)


def command_lines(
    file: ConfigurationFile, included: Callable[[str], ConfigurationFile | None]
) -> Iterator[CommandLine]:
    """The command lines of a file; `included` finds another one by its path."""
    if _COMPOSE.search(file.path):
        found = _of_compose(file)
    elif posixpath.basename(file.path).endswith(("Dockerfile", "Containerfile", ".dockerfile")):
        found = _of_docker(list(logical_lines(file.lines)))
    else:
        found = logical_lines(file.lines)
    values = _values(file, included, _DEPTH)
    for parts in found:
        if sum(len(text) for _, text in parts) > _MAX_LINE:
            continue
        defaults: list[str] = []
        seen = [(line, _put_in(text, values, defaults)) for line, text in parts]
        if sum(len(text) for _, text in seen) <= _MAX_LINE:
            yield CommandLine(seen, next(iter(defaults), ""))


def _values(
    file: ConfigurationFile, included: Callable[[str], ConfigurationFile | None], depth: int
) -> Mapping[str, tuple[str, bool]]:
    """Each variable that is set once, to a literal: its value, and whether that is a default."""
    found: dict[str, tuple[str, bool]] = {}
    times: Counter[str] = Counter()
    for parts in logical_lines(file.lines):
        if sum(len(part) for _, part in parts) > _MAX_LINE:
            continue
        text = " ".join(part for _, part in parts)
        if (other := _INCLUDED.match(text)) is not None and depth:
            path = posixpath.normpath(posixpath.join(file.folder, other["file"]))
            if (there := included(path)) is not None and there is not file:
                more = _values(there, included, depth - 1)
                found.update(more)
                times.update(more.keys())
        times.update(hit["name"] for hit in _SET_ELSEWHERE.finditer(text))
        if (hit := _ASSIGNED.match(text)) is None:
            continue
        times[hit["name"]] += 1
        value = hit["value"].strip("\"'")
        if value and not any(letter in value for letter in "$`{("):
            is_default = "?" in hit["sign"] or text.lstrip().startswith("ARG") or text[:1].isspace()
            found[hit["name"]] = (value, is_default)
    return {name: value for name, value in found.items() if times[name] == 1}


def _put_in(text: str, values: Mapping[str, tuple[str, bool]], defaults: list[str]) -> str:
    """A text with the values of its variables; those of which only the default is known are added to `defaults`."""

    def value(hit: re.Match[str]) -> str:
        name = hit["braced"] or hit["made"] or hit["plain"] or hit["just"]
        if name in values:
            known, is_default = values[name]
        elif hit["name"] and hit["default"]:
            name, (known, is_default) = hit["name"], values.get(hit["name"], (hit["default"], True))
        else:
            return hit[0]
        if is_default:
            defaults.append(name)
        return known

    return _VARIABLE.sub(value, text)


def _of_docker(lines: list[list[tuple[int, str]]]) -> Iterator[list[tuple[int, str]]]:
    """The lines of a Dockerfile; the words of CMD follow those of the ENTRYPOINT that it completes."""
    started: dict[str, list[tuple[int, str]]] = {}
    for parts in lines:
        if (hit := _DOCKER.match(" ".join(part for _, part in parts))) is None:
            yield parts
        else:
            started[hit["what"]] = [(parts[0][0], hit["words"])]
    if started:
        yield [*started.get("ENTRYPOINT", ()), *started.get("CMD", ())]


def _of_compose(file: ConfigurationFile) -> Iterator[list[tuple[int, str]]]:
    """What each service of a Compose file starts; nothing of one that cannot be parsed."""
    import yaml  # only for a project with such a file

    text = file.data.decode("utf-8-sig", "replace")
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    services = _entries(root).get("services") if root is not None else None
    for service in _entries(services).values() if services is not None else ():
        said = _entries(service)
        parts = [part for key in _OF_A_CONTAINER if key in said for part in _words(said[key])]
        if parts:
            yield from logical_lines_of(parts)


def logical_lines_of(parts: list[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Parts that may hold several lines of a shell, one list for each line."""
    if not any("\n" in text for _, text in parts):
        yield parts
        return
    for first, text in parts:
        for joined in logical_lines(text.splitlines()):
            yield [(first + number, part) for number, part in joined]


def _entries(node: Any) -> dict[str, Any]:
    """The values of a mapping by key; of anything else none."""
    if node.id != "mapping":
        return {}
    return {key.value: value for key, value in node.value if key.id == "scalar"}


def _words(node: Any) -> list[tuple[int, str]]:
    """The words of a command, which is a text or a list of them."""
    nodes = node.value if node.id == "sequence" else [node]
    return [(each.start_mark.line + 1, each.value) for each in nodes if each.id == "scalar"]
