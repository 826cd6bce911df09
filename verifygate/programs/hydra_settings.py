"""What `@hydra.main` makes of a program: every key of its configuration is a setting, `trainer.max_epochs=1`.

The YAML files are composed as Hydra does it, as far as that matters for small settings: the defaults list, groups,
packages. A group is a setting as well (`data=fake`), with the files of its folder as choices. Structured configs are
read from the dataclass that a `ConfigStore` is given under the name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.config.documents import read_yaml
from verifygate.programs.option import NOT_KNOWN, Option, literal, setting_name, type_name
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.syntax.names import last_name

Chosen = Callable[[Iterable[Option]], Mapping[str, str]]
"""Of options that are groups, those for which something is proposed: flag -> value."""
_MOST_FILES = 100
_MOST_KEYS = 1000


def settings_of_hydra(
    functions: Iterable[Function], modules: Iterable[Module], root: Path, chosen: Chosen
) -> list[Option]:
    """The settings of the first function that `@hydra.main` decorates; none where there is none."""
    for function in functions:
        for decorator in getattr(function.node, "decorator_list", ()):
            if not (isinstance(decorator, ast.Call) and _is_hydra(decorator, function)):
                continue
            given = {word.arg: literal(word.value) for word in decorator.keywords}
            positional = dict(zip(("config_path", "config_name"), map(literal, decorator.args), strict=False))
            path, name = ((positional | given).get(each) for each in ("config_path", "config_name"))
            place = (function.module.path, decorator.lineno)
            found = _of_files(root / PurePosixPath(function.module.path).parent, root, path, name, place, chosen)
            found = found or [each for module in modules for each in _of_store(module, str(name))]
            folder = Option("output_dir", ("hydra.run.dir",), *place, kind="str", default="outputs/", joined=True)
            return [*found, folder]
    return []


def _is_hydra(decorator: ast.Call, function: Function) -> bool:
    return last_name(decorator.func) == "main" and function.module.mentions(b"hydra")


# --- files


def _of_files(
    beside: Path, root: Path, path: object, name: object, place: tuple[str, int], chosen: Chosen
) -> list[Option]:
    if not isinstance(path, str) or not isinstance(name, str) or "://" in path:
        return []
    composed = _Composed(beside / path, root, place, {})
    composed.add(name.removesuffix(".yaml"), group="", package="")
    if picked := chosen(composed.groups):
        composed = _Composed(beside / path, root, place, picked)
        composed.add(name.removesuffix(".yaml"), group="", package="")
    return [*composed.groups, *composed.settings()]


class _Composed:
    """One configuration, composed of the files of a folder. `picked`: group -> the file that is taken of it."""

    def __init__(self, folder: Path, root: Path, place: tuple[str, int], picked: Mapping[str, str]) -> None:
        self._folder, self._root, self._place, self._picked = folder, root, place, picked
        self._files = 0
        self._keys: dict[str, Any] = {}
        self.groups: list[Option] = []

    def add(self, name: str, *, group: str, package: str) -> None:
        """Add a file of a group, and what its defaults list names; later files win."""
        self._files += 1
        if self._files > _MOST_FILES:
            return
        document, head = _document(self._folder / group / f"{name}.yaml", self._root)
        if "@package" in head:
            given = head.partition("@package")[2].strip()
            package = "" if given in ("_global_", "") else given
        listed = document.pop("defaults", [])
        entries = listed if isinstance(listed, list) else []
        own = "_self_" in entries
        for entry in entries:
            if entry == "_self_":
                self._merge(document, package)
            else:
                self._follow(entry, group, package)
        if not own:
            self._merge(document, package)

    def _follow(self, entry: object, group: str, package: str) -> None:
        if isinstance(entry, str):
            self.add(entry.lstrip("/"), group="" if entry.startswith("/") else group, package=package)
            return
        if not isinstance(entry, dict) or len(entry) != 1:
            return
        ((key, taken),) = entry.items()
        words = str(key).split()
        if words[0] == "override" or words[-1].lstrip("/").startswith("hydra"):
            return
        named, _, renamed = words[-1].partition("@")
        whole = named.lstrip("/") if named.startswith("/") or not group else f"{group}/{named}"
        into = [package, renamed or named.strip("/").replace("/", ".")]
        self._take(whole, taken, "" if renamed == "_global_" else ".".join(filter(None, into)), words[-1].lstrip("/"))

    def _take(self, group: str, taken: object, package: str, said: str) -> None:
        names = taken if isinstance(taken, list) else [self._picked.get(said, taken)]
        if not isinstance(taken, list):
            option = Option(PurePosixPath(group).name, (said,), *self._place, kind="str", joined=True)
            choices = tuple(sorted(each.stem for each in _yaml_in(self._folder / group)))
            default = None if taken in (None, "???") else str(taken)
            self.groups.append(replace(option, choices=choices, default=default, required=taken == "???"))
        for each in names:
            if isinstance(each, str) and each != "???":
                self.add(each, group=group, package=package)

    def _merge(self, document: Mapping[Any, Any], package: str) -> None:
        for key, value in document.items():
            name = f"{package}.{key}" if package else str(key)
            if isinstance(value, dict):
                self._merge(value, name)
            elif len(self._keys) < _MOST_KEYS and not str(key).startswith("_") and not name.startswith("hydra."):
                self._keys[name] = value

    def settings(self) -> Iterator[Option]:
        """One option for each value."""
        for name, value in self._keys.items():
            text = isinstance(value, str)
            default = NOT_KNOWN if text and "${" in value else value
            required = value == "???"
            kind = "" if value is None or default is NOT_KNOWN else type(value).__name__
            yield Option(
                setting_name(name), (name,), *self._place, kind=kind, default=None if required else default,
                required=required, joined=True,
            )  # fmt: skip


def _yaml_in(folder: Path) -> list[Path]:
    try:
        return [each for each in folder.iterdir() if each.suffix == ".yaml"]
    except OSError:
        return []


def _document(path: Path, root: Path) -> tuple[dict[str, Any], str]:
    """What a YAML file below the root says, and its first line; nothing where it is none that is read."""
    try:
        if not path.resolve().is_relative_to(root.resolve()):
            return {}, ""
        said = read_yaml(path, str(path)).data
        lines = read_regular(path, MAX_SOURCE_BYTES, tree=root).decode("utf-8-sig").splitlines()
    except (UsageError, OSError, ValueError, RuntimeError):  # a link to itself is one of these
        return {}, ""
    return said, next((line for line in lines if line.strip()), "")


# --- structured configs


def _of_store(module: Module, name: str) -> Iterator[Option]:
    """The fields of `cs.store(name="config", node=Config)`, those of nested dataclasses by their dotted names."""
    for function in module.all_functions:
        for call in function.calls:
            given = {word.arg: word.value for word in call.keywords}
            if last_name(call.func) != "store" or literal(given.get("name")) != name or "group" in given:
                continue
            node = given.get("node")
            made = module.classes.get(last_name(node)) if node is not None else None
            if made is not None:
                yield from _fields(made, "", 0)


def _fields(made: Class, prefix: str, depth: int) -> Iterator[Option]:
    for node in made.node.body:
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        name = f"{prefix}{node.target.id}"
        inner = made.module.classes.get(type_name(node.annotation))
        if inner is not None and depth < 4:
            yield from _fields(inner, f"{name}.", depth + 1)
            continue
        required = node.value is None or last_name(node.value) == "MISSING"
        default = None if required else literal(node.value)
        yield Option(
            setting_name(name), (name,), made.module.path, node.lineno, kind=type_name(node.annotation),
            default=default, required=required, joined=True,
        )  # fmt: skip
