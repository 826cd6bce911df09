"""Runs inside the subject's interpreter: start a script or module, with instruments in place before it imports torch.

Usage: python bootstrap.py launch --options JSON -- script.py [argument]...
       python bootstrap.py launch --options JSON -- -m module [argument]...

The script finds what it would find without us: its own `sys.argv`, `__main__` and `sys.path`, its exit code, and
tracebacks without our frames. What is not the same: torch's import calls the instruments (below), and a `-c` text or
a script on standard input is not run.

The options are one JSON object:

    folder       where the instruments may write; it exists, and it is private to this run
    root         the project's root: frames of files below it count as the project's own
    instruments  [[name, {its own options}], ...], installed in this order; the names are those of INSTRUMENTS
    follow       whether the Python processes that the subject starts have the instruments too (children.py)

**What an instrument is.** A module of this package with `install(options: dict, tell: Callable) -> None`. It is called
once, in the process of the subject, after torch was imported and before the statement that imported it goes on; so it
may import torch, and patch it, before the subject has a name for anything in it. A run that never imports torch
installs nothing. `options` are the instrument's own, with `folder` and `root` added. `tell(event, **fields)` writes
one line of JSON, at once, to `folder/told.jsonl`; in a forked child it is silent. An instrument that raises while it
is installed is told as `not-installed`, and the run goes on without it: whoever reads the record must fail closed.
Instruments import each other relatively (`from ..launch import ...`), torch and the standard library; nothing else.

The launcher itself tells: `launched`, `installed` / `not-installed` (per instrument), and at the end `ended`, with
`how` (`returned`, `exit`, `raised`). No `ended` means that the process died before its end.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .bootstrap import HERE
from .raised import by_statement, causes, statement

INSTRUMENTS = {
    "recorder": "recorder.install",
    "emulate_cuda": "cuda.emulation",
    "health": "health.install",
    "numerics": "numerics.install",
    "dtypes": "dtypes.install",
    "compiled": "compiled.install",
    "injection": "oracle.fault_injection",
    "oracle": "oracle.perturbation",
    "values": "values.install",
    "resume": "oracle.resume_watch",
}
"""Name in the options -> module of this package."""
TOLD = "told.jsonl"
UNSEEN = "<verifygate importlib _bootstrap>"
"""File name of our wrappers' code. `warnings.warn` takes frames of such a name for the import system's and skips
them, so a warning of torch's still names the subject's line."""

Tell = Callable[..., None]
at_failure: list[Callable[[BaseException], None]] = []
"""Instruments that look at the error which ends the run, or a test, while its frames still hold their variables."""


def main(arguments: Sequence[str]) -> int:
    """Install and run; returns the exit code of a script that raised. SystemExit goes through as it is."""
    options, command = _parsed(arguments)
    tell = teller(Path(options["folder"], TOLD))
    tell("launched", python=sys.version.split()[0])
    install_with_torch(options, tell)
    if options.get("follow"):
        importlib.import_module(f"{__package__}.children").follow(options)
    try:
        run(command)
    except SystemExit as end:
        said = end.code if isinstance(end.code, str) else ""
        tell("ended", how="exit", code=_exit_code(end), said=said.partition("\n")[0], trace=_trace(end))
        raise
    except BaseException as error:
        look_at(error)
        without_our_frames(error)
        told: dict[str, Any] = {"error": type(error).__name__, "message": _first_line(error), "trace": _trace(error)}
        told |= {"causes": causes(error), "statement": statement(error, str(options.get("root", "")))}
        tell("ended", how="raised", by_statement=by_statement(error), **told)
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    tell("ended", how="returned", code=0)
    return 0


def look_at(error: BaseException) -> None:
    """Let the instruments look at an error that ends the run, or a test."""
    for look in at_failure:
        with contextlib.suppress(Exception):  # the error itself is what counts
            look(error)


def teller(path: Path) -> Tell:
    """A function that appends one JSON object as a line; silent in processes forked from this one."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    owner = os.getpid()

    def tell(event: str, **fields: object) -> None:
        if os.getpid() == owner:
            os.write(descriptor, (json.dumps({"event": event, **fields}, default=str) + "\n").encode("ascii"))

    return tell


def install_with_torch(options: dict[str, Any], tell: Tell) -> None:
    """Install the instruments as soon as torch is there: now, or when somebody imports it."""
    if options["instruments"]:
        when_imported("torch", lambda: install(options, tell))


def install(options: dict[str, Any], tell: Tell) -> None:
    """Install the instruments now."""
    common = {"folder": options["folder"], "root": options["root"]}
    for name, own in options["instruments"]:
        try:
            module = importlib.import_module(f"{__package__}.{INSTRUMENTS[name]}")
            module.install({**common, **own}, tell)
        except Exception as error:
            tell("not-installed", instrument=name, error=f"{type(error).__name__}: {_first_line(error)}")
        else:
            tell("installed", instrument=name, torch=sys.modules["torch"].__version__)


def when_imported(name: str, call: Callable[[], None]) -> None:
    """Call a function once a module is there: now, or when somebody has imported it."""
    if name in sys.modules:
        call()
    else:
        sys.meta_path.insert(0, _AfterImport(name, call))


class _AfterImport:
    """A finder that lets the others find a module, and calls a function once the module is executed."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name, self._call = name, call

    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_call(module: types.ModuleType) -> None:
                del spec.loader.exec_module  # type: ignore[union-attr] # the class has its own again
                execute(module)
                self._call()

            spec.loader.exec_module = execute_and_call  # type: ignore[method-assign]
        return spec


def run(command: Sequence[str]) -> None:
    """Run a script, or `-m module`, as `__main__`, in this process."""
    if command[0] == "-m":
        _run_module(command[1], list(command[2:]))
    else:
        _run_script(command[0], list(command[1:]))


def _run_script(script: str, arguments: list[str]) -> None:
    sys.argv = [script, *arguments]
    if not sys.flags.safe_path:
        sys.path.insert(0, str(Path(script).resolve().parent))
    path = str(Path(script).absolute())  # as the interpreter shows it
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        sys.exit(2)
    code = compile(source, path, "exec", dont_inherit=True)
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    exec(code, new_main(path, loader, None).__dict__)  # noqa: S102 - it is what we are here for


def _run_module(name: str, arguments: list[str]) -> None:
    sys.argv = ["-m", *arguments]
    if not sys.flags.safe_path:
        sys.path.insert(0, str(Path.cwd()))
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    loader: Any = spec.loader if spec is not None else None
    code = loader.get_code(spec.name) if spec is not None and hasattr(loader, "get_code") else None
    if spec is None or code is None:
        sys.exit(f"{sys.executable}: No module named {name}, or it cannot be executed")
    sys.argv[0] = str(spec.origin)
    exec(code, new_main(str(spec.origin), spec.loader, spec).__dict__)  # noqa: S102


def new_main(file: str, loader: Any, spec: importlib.machinery.ModuleSpec | None) -> types.ModuleType:
    """The module that takes our place as `__main__`, for good: threads and exit handlers look there as well."""
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __builtins__=__builtins__,
        __file__=file,
        __cached__=None,
        __loader__=loader,
        __spec__=spec,
        __package__=spec.parent if spec is not None else None,
    )
    sys.modules["__main__"] = module
    return module


def without_our_frames(error: BaseException) -> None:
    """Take this package's frames out of the traceback of an error, and of the errors behind it."""
    pending, seen = [error], set()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _stripped(one.__traceback__)
        pending += [other for other in (one.__cause__, one.__context__) if other is not None]


def _stripped(trace: types.TracebackType | None) -> types.TracebackType | None:
    kept = []
    while trace is not None:
        if not is_ours(trace.tb_frame.f_code.co_filename):
            kept.append(trace)
        trace = trace.tb_next
    for outer, inner in zip(kept, [*kept[1:], None], strict=False):
        outer.tb_next = inner
    return kept[0] if kept else None


def is_ours(path: str) -> bool:
    """Whether a file is of the instruments, or the name of a wrapper's code."""
    return path == UNSEEN or path.startswith(str(HERE))


def _trace(error: BaseException) -> list[list[object]]:
    """Path and line of each frame, outermost first; the innermost thirty."""
    entries: list[list[object]] = []
    step = error.__traceback__
    while step is not None:
        entries.append([step.tb_frame.f_code.co_filename, step.tb_lineno])
        step = step.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        entries.append([error.filename, error.lineno or 0])
    return entries[-30:]


def _first_line(error: BaseException) -> str:
    try:
        text = str(error).strip()
    except Exception:  # a __str__ that raises is the subject's business
        text = ""
    return text.splitlines()[0][:300] if text else ""


def _exit_code(end: SystemExit) -> int:
    if end.code is None:
        return 0
    return end.code if isinstance(end.code, int) else 1


def _parsed(arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The options and the command. The gate writes both, so a wrong one is a plain SystemExit."""
    if len(arguments) < 4 or arguments[0] != "--options" or arguments[2] != "--":
        sys.exit("usage: bootstrap.py launch --options JSON -- script.py [argument]... | -m module [argument]...")
    command = list(arguments[3:])
    if command[0] == "-m" and len(command) < 2:
        sys.exit("launch: -m needs the name of a module")
    return dict(json.loads(arguments[1])), command
