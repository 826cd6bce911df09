"""Configurations that are programs of their own: the YAML or TOML that a framework trains by, and what launches it.

A file is one if its keys are of that framework beyond doubt, or if a command line of the tree hands it over.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

from verifygate.base.records import record, replace
from verifygate.configured_precision.document import DocumentError, Item, SeveralDocumentsError, merged, parse, placed
from verifygate.configured_precision.framework_table import Cell, Evaluation, Framework, at, frameworks, text_of
from verifygate.configured_precision.hydra import ABSENT, NotComposed, composed_from, lands_at_the_root
from verifygate.configured_precision.launches import DOCUMENTS, Launch, Launches
from verifygate.model import NotFollowed
from verifygate.model.precision_contract import (
    OF_CONFIGURATION,
    Aspect,
    ContractRow,
    Declaration,
    PrecisionContract,
    altered,
)
from verifygate.sources.configuration_file import ConfigurationFile
from verifygate.sources.tree import Sources

_DEFAULTS = re.compile(rb"^defaults[ \t]*:[ \t]*(?:\[|(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*+[ \t]*-)", re.MULTILINE)
"""What makes a file a primary configuration of Hydra."""


@record(kw_only=True)
class Driver:
    """A configuration that a framework trains by, and its cells."""

    framework: Framework
    path: str
    launched: tuple[str, int] | None
    """The command line that hands it over; None where none in sight does."""
    has_overrides: bool
    """Whether that line sets something beside the file, or names further files."""
    overridden: frozenset[str]
    """The keys of the file that the line sets anew, by itself or by a further file."""
    writes: str
    """Where it saves what it trains, as it is written; empty where that is not known."""
    reads: frozenset[str]
    """What another run may have saved, as it is written."""
    unsure: str
    """What a command line may set that cannot be read from it, or nothing."""
    files: frozenset[str]
    """It, and the files that it or its launch line names: of DeepSpeed, of the launcher."""
    cells: Mapping[str, Cell]

    @property
    def faults(self) -> list[tuple[Cell, bool]]:
        """What breaks a rule, and whether it does for sure: a command line in sight starts it, and sets no more."""
        is_sure = self.launched is not None and not self.unsure
        return [(each, is_sure and not each.is_likely) for each in self.cells.values() if each.rule]

    @property
    def title(self) -> str:
        """`configs/a.yml`, with the launch where that sets something beside it."""
        if self.launched is not None and self.launched[0] == self.path:
            return f"{self.path}:{self.launched[1]}"
        if self.launched is None or not self.has_overrides:
            return self.path
        return f"{self.path} as {self.launched[0]}:{self.launched[1]} launches it"

    def shown(self, typed: Callable[[str], str]) -> Driver:
        """It, with its paths as people would type them."""
        launched = (typed(self.launched[0]), self.launched[1]) if self.launched is not None else None
        cells = {name: replace(each, path=typed(each.path)) for name, each in self.cells.items()}
        return replace(self, path=typed(self.path), launched=launched, cells=cells)

    @property
    def contract(self) -> PrecisionContract:
        """Its rows; those that have no meaning for it are not there."""
        place = self.launched or (self.path, 1)
        note = "launched here" if self.launched else "its keys are of this framework; no command line here launches it"
        judged_by = "configuration rules" if self.framework.is_judged else ""
        driver = Declaration(
            value=self.framework.title, path=place[0], line=place[1], said_by="configuration", note=note,
            judged_by=judged_by, condition=self.unsure,
        )  # fmt: skip
        rows = [ContractRow(aspect=Aspect.DRIVER, standing="declared", declared=(driver,))]
        rows += [self._row(each, self.cells[each.value]) for each in OF_CONFIGURATION if each.value in self.cells]
        return PrecisionContract(rows=tuple(rows))

    def _row(self, aspect: Aspect, cell: Cell) -> ContractRow:
        if cell.gap:
            gap = NotFollowed(path=cell.path, line=cell.line, reason=cell.gap)
            return ContractRow(aspect=aspect, standing="not followed", not_followed=(gap,))
        default = f"default of {self.framework.name}, `{cell.default}` is not set" if cell.default else ""
        said = Declaration(
            value=cell.value, path=cell.path, line=cell.line, said_by="configuration",
            note="; ".join(filter(None, (cell.said, cell.read))), condition=default,
        )  # fmt: skip
        return ContractRow(aspect=aspect, standing="declared", declared=(said,))


class Whole(NamedTuple):
    """A configuration with what it takes in."""

    root: Item
    holes: tuple[NotComposed, ...] = ()
    files: frozenset[str] = frozenset()
    """Those that it is put together from; none where it is one."""


class Drivers:
    """The drivers among some files."""

    def __init__(self, files: Iterable[ConfigurationFile], named: Collection[str] = ()) -> None:
        """`named` are the paths of files that are asked for by name: they count although they lie with tests."""
        self._named = named
        self._files = {each.path: each for each in files}
        self._launches = Launches(self._files)
        self._documents: dict[str, Item | None] = {}
        self.broken: dict[str, DocumentError] = {}
        """What should be a driver, or what one names, and cannot be read."""

    @classmethod
    def of(cls, sources: Sources) -> Drivers:
        """The drivers beside some sources, which are read once however often somebody asks."""
        if sources not in _KNOWN:
            _KNOWN[sources] = cls(sources.configuration)
        return _KNOWN[sources]

    def all(self) -> list[Driver]:
        """Every driver, by path, those without a launch line too."""
        return list(self._all)

    @cached_property
    def _all(self) -> list[Driver]:
        found: dict[tuple[str, str], Driver] = {}
        for each in self._launches.all:
            if (document := self._handed(each)) is not None and each.framework.takes(document.root):
                driver = self._driver(each.framework, each.file, document, each)
                found.setdefault((each.file, each.identity), driver)
        launched = {path for path, _ in found}.union(*(each.more for each in self._launches.all))
        for path, file in self._files.items():
            is_named = path in self._named
            if path in launched or (file.is_test and not is_named) or file.suffix not in DOCUMENTS:
                continue
            asking = [each for each in frameworks() if each.may_own(file.data)]
            known = len(self.broken)
            composes = not asking and file.suffix in (".yaml", ".yml") and _DEFAULTS.search(file.data) is not None
            asking = [*frameworks()] if composes else asking
            document = self._whole(path) if asking or (is_named and not file.data) else None
            owner = next((each for each in asking if document is not None and each.owns(document.root)), None)
            if owner is not None and document is not None:
                found[path, ""] = self._driver(owner, path, document, None)
            elif composes and not is_named:
                self.broken = dict([*self.broken.items()][:known])  # nothing says that it is a framework's
        return [found[key] for key in sorted(found)]

    @cached_property
    def lost(self) -> dict[str, DocumentError]:
        """The files that should be drivers, by their keys or by a command line, and that cannot be read."""
        there = {each.path for each in self.all()}
        named = {each.file for each in self._launches.all}
        return {
            path: error
            for path, error in self.broken.items()
            if path not in there
            and (path in named or (not isinstance(error, SeveralDocumentsError) and self._may_drive(path)))
        }

    def _may_drive(self, path: str) -> bool:
        return any(each.may_own(self._files[path].data) for each in frameworks())

    @property
    def are_there(self) -> bool:
        """Whether there is any, or should be."""
        return bool(self.all() or self.lost)

    @cached_property
    def unread(self) -> list[NotFollowed]:
        """The command lines that hand a file to a framework which is not here, or which is named when they run."""
        frameworks_here = {each.framework.name for each in self.all()}
        return [
            each for by, each in self._launches.unread if "$" not in each.reason or by.name not in frameworks_here
        ]  # else the driver says that the line may be about it

    def document(self, path: str) -> Item | None:
        """What a file holds; None where it cannot be parsed, or is no table."""
        if path not in self._documents:
            self._documents[path] = None
            file = self._files[path]
            try:
                if why := file.why_empty:
                    raise DocumentError(why)
                document = parse(file.data.decode("utf-8-sig", "replace"), file.suffix, alone=True)
            except DocumentError as error:
                self.broken[path] = error
            else:
                self._documents[path] = document if isinstance(document.value, dict) else None
        return self._documents[path]

    def _handed(self, launch: Launch) -> Whole | None:
        """What a command line hands over, its further files over the first."""
        if launch.file == launch.path:
            return Whole(Item(launch.line, {}))
        whole = self._whole(launch.file) if launch.file in self._files else None
        if whole is None or not launch.more:
            return whole
        root = whole.root if whole.files else placed(whole.root, launch.file)
        holes, files = [*whole.holes], {launch.file, *whole.files}
        for path in launch.more:
            document = self.document(path) if path in self._files else None
            if document is None:
                holes.append(NotComposed(launch.path, launch.line, path, (), ABSENT))
            else:
                root = merged(root, placed(document, path))
                files.add(path)
        return Whole(root, tuple(holes), frozenset(files))

    def _whole(self, path: str) -> Whole | None:
        """What a file holds, with what it takes in where it is a primary configuration of Hydra."""
        document = self.document(path)
        if document is None or not _DEFAULTS.search(self._files[path].data):
            return Whole(document) if document is not None else None
        root, holes, files = Item(1, {}), [], {path}
        for part in composed_from(path, self._document_and_bytes):
            if isinstance(part, NotComposed):
                holes.append(part)
            elif (taken := self.document(part.path)) is not None:
                root = merged(root, placed(taken, part.path, part.group))
                files.add(part.path)
        return Whole(root, tuple(holes), frozenset(files))

    def _document_and_bytes(self, path: str) -> tuple[Item, bytes] | None:
        document = self.document(path) if path in self._files else None
        return (document, self._files[path].data) if document is not None else None

    def _driver(self, framework: Framework, path: str, whole: Whole, launch: Launch | None) -> Driver:
        document = whole.root
        documents = {"": (path, document)}
        unread: dict[str, str] = {}
        given = {**launch.given, **launch.words} if launch is not None else {}
        if framework.servers:
            model = given[framework.model][0] if framework.model in given else text_of(at(document, framework.model))
            given |= self._launches.server_of(framework, path, model)
        for key, name in framework.links.items():
            item = at(document, key)
            if item is not None and isinstance(item.value, dict):
                documents[name] = (path, item)
                continue
            text = given[key][0] if key in given else text_of(item)
            if (file := self._launches.found(text, path)) and (linked := self.document(file)) is not None:
                documents[name] = (file, linked)
            elif file in self.broken:
                unread[name] = f"that file cannot be read: {self.broken[file]}"
        if launch is not None and launch.accelerate:
            if (file := self._launches.found(launch.accelerate, launch.path)) and (
                linked := self.document(file)
            ) is not None:
                documents["accelerate"] = (file, linked)
            else:
                unread["accelerate"] = f"`--config_file {launch.accelerate}`: that file is not here, or cannot be read"
        holes = [each for each in whole.holes if not (each.why == ABSENT and each.entry in framework.ships)]
        if launch is None and whole.files:
            holes += self._started_with(path)
        evaluation = Evaluation(framework, documents, given, unread, holes)
        cells = evaluation.cells()
        place = (launch.path, launch.line) if launch is not None else None
        unsure = launch.unsure if launch is not None else self._launches.by_variable.get(framework.name, "")
        if launch is None and whole.files:
            unsure = unsure or "unless options of Hydra on a command line say otherwise"
        return Driver(
            framework=framework, path=path, launched=place, unsure=unsure, cells=cells,
            has_overrides=launch is not None and launch.has_overrides,
            overridden=self._overridden(launch) if launch is not None else frozenset(),
            writes=evaluation.text(framework.writes),
            reads=frozenset(filter(None, map(evaluation.text, framework.reads))),
            files=frozenset(file for file, _ in documents.values()) | whole.files,
        )  # fmt: skip

    def _started_with(self, path: str) -> Iterator[NotComposed]:
        """What of a primary configuration of Hydra the command lines set that start Python programs."""
        for each in self._launches.overrides:
            group, _, chosen = each.entry.lstrip("+").partition("=")
            part = self._files.get(posixpath.join(posixpath.dirname(path), group, f"{chosen}.yaml"))
            yield replace(each, group=()) if part is not None and lands_at_the_root(part.data) else each

    def _overridden(self, launch: Launch) -> frozenset[str]:
        """The keys that a command line sets beside the first file that it names."""
        further = [self.document(path) for path in launch.more if path in self._files]
        tables = [each for document in further if document is not None for each in document.tables()]
        return frozenset(launch.given).union(
            ".".join((*keys, key)) for keys, table in tables for key, item in table.table.items() if item.is_scalar
        )


_KNOWN: WeakKeyDictionary[Sources, Drivers] = WeakKeyDictionary()


def changed(before: Iterable[Driver], after: Iterable[Driver]) -> list[str]:
    """What a change moves in the contracts of drivers: `a.yml: reduction: float32 -> bfloat16, ds.json:14`.

    Of one file that several lines launch, those that say the same belong together, then the others in their order.
    """
    old, new = (_by_path(drivers) for drivers in (before, after))
    lines = []
    for path in old.keys() | new.keys():
        gone, come = old.get(path, []), new.get(path, [])
        for each in [*come]:
            same = next((one for one in gone if not altered(one.contract, each.contract)), None)
            if same is not None:
                gone.remove(same)
                come.remove(each)
        for one, each in zip(gone, come, strict=False):
            lines += [f"{each.title}: {line}" for line in altered(one.contract, each.contract)]
        lines += [f"{each.title}: a new configuration that trains" for each in come[len(gone) :]]
        lines += [f"{one.title}: trains no more" for one in gone[len(come) :]]
    return sorted(lines)


def _by_path(drivers: Iterable[Driver]) -> dict[str, list[Driver]]:
    found: dict[str, list[Driver]] = {}
    for each in drivers:
        found.setdefault(each.path, []).append(each)
    return found
