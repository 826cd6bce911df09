"""Find the programs that train: files that can be started and come to a training step, the most promising first."""

from __future__ import annotations

import ast
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from verifygate.base.failures import room_for_nesting
from verifygate.base.garbage import collection_paused
from verifygate.model.program import Program
from verifygate.programs.agreement import agreeing
from verifygate.programs.argparse_options import declared_by_assignments, declared_by_calls, has_sub_commands
from verifygate.programs.first_run import FirstRun
from verifygate.programs.hydra_settings import settings_of_hydra
from verifygate.programs.lightning_settings import cli_of, has_sub_command, settings_of_lightning
from verifygate.programs.obstacles import MOST, obstacles
from verifygate.programs.option import Option
from verifygate.programs.reach import Reach, Reached, Step
from verifygate.programs.signature_options import declared_by_signatures
from verifygate.programs.small_settings import Proposal, proposals
from verifygate.programs.yacs_settings import settings_of_yacs
from verifygate.sources.byte_patterns import Alternatives
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.part_analysis import RECURSION_LIMIT
from verifygate.static.symbols.program import Function, Module

MOST_FOUND = 5
_ENOUGH = 15
"""Programs among which the best are chosen."""
_MOST_FOLLOWED = 40
"""Files that are followed; of a tree with more of them, those whose names and folders promise most."""
_TRAINS_BY_NAME = re.compile(r"(?:^|_)(?:train|pretrain|finetune|fine_tune|fit)")
_MAIN_BY_NAME = re.compile(r"^(?:main|run|__main__)")
_ASIDE = frozenset({
    "legacy", "deprecated", "old", "archive", "third_party", "docs", "benchmarks", "benchmark", "tutorials",
    "extensions", "contrib",
})  # fmt: skip
"""Folders of what is not the project's own training, or no more."""
_ASIDE_BY_NAME = re.compile(r"legacy|bench|profil|sweep|hpo|demo|example_")
_PLAIN = re.compile(r"[\w./{}=-]+")
_CUDA = Alternatives(r"\bcuda\b|\.cuda\(")
_HEADS = Alternatives(r"num_heads|n_head|nhead|MultiheadAttention|n_heads")
_CONFIGURES = Alternatives(r"yacs|CfgNode|ConfigStore|LightningModule|LightningDataModule")
_NO_PROGRAMS = frozenset({"setup.py", "conftest.py", "__init__.py", "hubconf.py", "noxfile.py", "conf.py"})


@dataclass(frozen=True)
class _Found:
    """One program, and what ranks it."""

    file: SourceFile
    program: Program
    has_amp: bool

    @property
    def order(self) -> tuple[object, ...]:
        """What is not aside first; then what runs as it stands, what is called train, what lies near the root."""
        aside, by_name, depth = _promise(self.file.path)
        number = len(self.program.obstacles)
        return (aside, number > 0, by_name, depth, number, self.file.path)


def found_programs(sources: Sources, root: Path) -> tuple[Program, ...]:
    """The programs of the sources that train, best first: those that come to AMP code, or all where none does.

    What is aside, such as `legacy/` or `bench.py`, counts where there is nothing else. `root` is the folder that
    commands run in.
    """
    with warnings.catch_warnings(), room_for_nesting(RECURSION_LIMIT), collection_paused():
        warnings.simplefilter("ignore")  # the project's own SyntaxWarnings are no business of this
        reach = Reach(sources)
        found = sorted(_found(reach, root), key=lambda each: each.order)
    found = [each for each in found if each.has_amp] or found
    found = [each for each in found if not _is_aside(each.file.path)] or found
    return tuple(each.program for each in found[:MOST_FOUND])


def found_functions(sources: Sources) -> tuple[str, ...]:
    """The functions that train, for a project in which no program was found that calls one: ``train` (engine.py:8)`."""
    with warnings.catch_warnings(), room_for_nesting(RECURSION_LIMIT), collection_paused():
        warnings.simplefilter("ignore")
        found = [
            (function.symbol, function.module.path, function.node.lineno)
            for function in Reach(sources).stepping()
            if not isinstance(function.node, ast.Module)
        ]
    found.sort(key=lambda each: ("train" not in each[0], _promise(each[1]), each[1:]))
    return tuple(f"`{symbol}` ({path}:{line})" for symbol, path, line in found[:MOST_FOUND])


def _found(reach: Reach, root: Path) -> Iterator[_Found]:
    files = [each for each in reach.candidates() if PurePosixPath(each.path).name not in _NO_PROGRAMS]
    found = 0
    for file in sorted(files, key=lambda file: _before(file, reach))[:_MOST_FOLLOWED]:
        reached = reach.of(file.path)
        if reached is None or (step := reached.step) is None:
            continue
        run = list(reach.sources.each(reached.paths))
        yield _Found(file, _program(file, run, reached, step, reach, root), any(each.mentions_amp for each in run))
        found += 1
        if found == _ENOUGH:
            return


def _before(file: SourceFile, reach: Reach) -> tuple[object, ...]:
    """The order in which files are followed: those that come to AMP code by their imports first."""
    has_amp = any(each.mentions_amp for each in reach.sources.each(reach.import_graph.closure(file.path)))
    return (not has_amp, *_promise(file.path), file.path)


def _promise(path: str) -> tuple[bool, int, int]:
    """How much a file's name and place promise: the lower, the more."""
    *folders, name = path.split("/")
    by_name = 0 if _TRAINS_BY_NAME.search(name) else 1 if _MAIN_BY_NAME.search(name) else 2
    return _is_aside(path), by_name, len(folders)


def _is_aside(path: str) -> bool:
    *folders, name = path.split("/")
    return not _ASIDE.isdisjoint(folders) or _ASIDE_BY_NAME.match(name) is not None


def _program(
    file: SourceFile, files: list[SourceFile], reached: Reached, step: Step, reach: Reach, root: Path
) -> Program:
    needs_cuda = any(_CUDA.found_in(each.data) for each in files)
    has_heads = any(_HEADS.found_in(each.data) for each in files)

    def proposed(options: Iterable[Option]) -> list[Proposal]:
        return proposals(options, needs_cuda=needs_cuda, has_heads=has_heads)

    options = _options(reached, list(_configuring(file, reach)), root, proposed)
    small = agreeing(proposed(options), options, reached.functions)
    start, problem = _start(file, root)
    if (cli := cli_of(reached.functions)) is not None and has_sub_command(cli[0]):
        start += " fit"
    if any(map(has_sub_commands, reached.functions)):
        small, options, problem = [], [], ["asks for a sub-command"]
    found = list(problem)
    first = FirstRun(reached, options, small, reach.enclosing)
    found += obstacles(reached, first, options, small, root)
    large = [each for each in small if not each.is_size]
    return Program(
        command=_command(start, small),
        full_size=_command(start, large) if len(large) < len(small) else "",
        path=step.path,
        line=step.line,
        step=reach.sources.line(step.path, step.line),
        needs_cuda=needs_cuda,
        obstacles=tuple(dict.fromkeys(" ".join(each.split()) for each in found))[:MOST],
    )


def _command(start: str, settings: list[Proposal]) -> str:
    return " ".join([start, *map(_quoted, _in_order(settings))])


def _options(
    reached: Reached, modules: list[Module], root: Path, proposed: Callable[[Iterable[Option]], list[Proposal]]
) -> list[Option]:
    """What the functions of a program declare; where none does, what its own file declares anywhere.

    Then the settings of a configuration library that is read from the command line.
    """
    found = list(declared_by_assignments(reached.functions[0]))
    found += [each for function in reached.functions for each in _declared(function, reached)]
    own = reached.functions[0].module
    if not found:
        found = [each for function in own.all_functions for each in _declared(function, reached)]
    if (cli := cli_of(reached.functions)) is not None:
        found += settings_of_lightning(*cli, [own, *modules])
    found += settings_of_yacs(reached.functions, modules, found)

    def chosen(groups: Iterable[Option]) -> dict[str, str]:
        return {each.option.flag: str(each.value) for each in proposed(groups)}

    found += settings_of_hydra(reached.functions, modules, root, chosen)
    return sorted(found, key=lambda each: (each.path != own.path, each.path, each.line))


def _configuring(file: SourceFile, reach: Reach) -> Iterator[Module]:
    """The files that a program imports in which a configuration is declared."""
    for each in reach.sources.each(sorted(reach.import_graph.closure(file.path))):
        module = reach.program.module(each.path) if _CONFIGURES.found_in(each.data) else None
        if module is not None:
            yield module


def _declared(function: Function, reached: Reached) -> Iterator[Option]:
    yield from declared_by_calls(function)
    yield from declared_by_signatures(function, reached.functions)


def _in_order(small: Iterable[Proposal]) -> Iterator[str]:
    """Options first, then positional arguments, then what stands among the words of another option."""
    small = list(small)
    last = [each for each in small if each.option.behind is not None]
    for flagged in (True, False):
        for each in small:
            if each not in last and bool(each.option.flags) is flagged:
                yield from each.words
    yield from filter(None, {each.option.behind for each in last})
    yield from (word for each in last for word in each.words)


def _quoted(word: str) -> str:
    """The word for a shell, and for `shlex.split`; `{temporary}` is replaced behind that."""
    return word if _PLAIN.fullmatch(word) else shlex.quote(word)


def _start(file: SourceFile, root: Path) -> tuple[str, list[str]]:
    """The command that starts a file, as a script or as a module, and what is wrong with either."""
    path = PurePosixPath(file.path)
    if path.parts[0] == "src" and len(path.parts) > 2:  # its package is installed, or on the module path
        return f"python -m {_dotted(path.relative_to('src'))}", []
    if len(path.parts) == 1:
        return f"python {shlex.quote(file.path)}", []
    tops = {each.split(".")[0] for each in _absolute_imports(file)}
    beside = any(_is_module(root / path.parent / each) for each in tops)
    elsewhere = any(_is_module(root / each) for each in tops)
    in_package = file.is_relative or (root / path).with_name("__init__.py").is_file()
    if not in_package and (beside or not elsewhere):
        return f"python {shlex.quote(file.path)}", []
    if all(part.isidentifier() for part in path.with_suffix("").parts):
        return f"python -m {_dotted(path)}", []
    where = f"imports from the project's root, which a script in `{path.parent}` does not see"
    return f"python {shlex.quote(file.path)}", [where]


def _absolute_imports(file: SourceFile) -> Iterator[str]:
    """The modules that a file imports by their whole names."""
    for source, names in file.imports:
        if source is not None:
            yield source.decode("ascii", "replace")
        else:
            yield from (words[0] for part in names.decode("ascii", "replace").split(",") if (words := part.split()))


def _is_module(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").is_file()


def _dotted(path: PurePosixPath) -> str:
    """The name of a module; of a package where the path is its `__main__.py`."""
    parts = path.parent.parts if path.name == "__main__.py" else path.with_suffix("").parts
    return ".".join(parts)
