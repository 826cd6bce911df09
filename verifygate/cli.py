"""The command line: options in, text and an exit code out. Only here do errors become exit codes.

0: PASS, or nothing found. 1: BLOCK, or findings. 2: wrong usage, configuration or input. 3: the gate itself broke.
130: somebody interrupted it.
Results go to stdout, everything else to stderr. Heavy modules are imported by the command that needs them.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from verifygate import __version__
from verifygate.base.clean_start import leave_out_checkout

if TYPE_CHECKING:
    import click

PASSED, BLOCKED, MISUSED, BROKEN, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # also while modules load
        if arguments is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would be a traceback out of Python's own end
        print("verifygate: interrupted; earlier reports are untouched", file=sys.stderr)
        return INTERRUPTED


def _run(arguments: list[str] | None) -> int:
    argv = sys.argv[1:] if arguments is None else arguments
    if arguments is None:
        leave_out_checkout()
    if argv == ["--version"]:  # before anything else is imported: shells and hooks ask for it often
        print(f"verifygate {__version__}")
        return PASSED
    # A plugin of pydantic's, brought by any installed package, could change what the gate takes for valid; and looking
    # for one reads the metadata of every package.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    if arguments is None and argv[:1] == ["check"]:
        # The process ends with its one analysis: looking through all syntax trees for garbage costs half a second in
        # a thousand files, and once more at the exit, and finds none.
        gc.disable()
        atexit.register(gc.freeze)
    from contextlib import nullcontext, redirect_stderr, redirect_stdout

    from verifygate.base.masking import MaskedStream

    # What `check` prints is masked before it is kept for the next time.
    printed = nullcontext() if argv[:1] == ["check"] else redirect_stdout(MaskedStream(sys.stdout))
    with redirect_stderr(MaskedStream(sys.stderr)), printed:
        return _ended(argv)


def _ended(argv: list[str]) -> int:
    """Run the command line; an exception becomes a line on stderr and an exit code."""
    from verifygate.base.errors import VerifygateError

    try:
        return _answered(argv)
    except VerifygateError as error:
        from verifygate.report.escape import LONG, plain

        print(f"verifygate: error: {plain(str(error), LONG)}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left: say nothing more
        return BROKEN
    except Exception as error:
        return _broke(error)


def _answered(argv: list[str]) -> int:
    """Run the command; plain arguments of `check` are read without click, which takes as long to load as Python."""
    if argv[:1] == ["check"]:
        from verifygate.check.options import plain_options
        from verifygate.check.run import run_check

        if (options := plain_options(argv[1:])) is not None:
            return run_check(options)
    signal.signal(signal.SIGTERM, _terminated)
    import click

    from verifygate.commands import InterruptedCommandError, cli

    try:
        return int(cli.main(args=argv, prog_name="verifygate", standalone_mode=False) or PASSED)
    except click.ClickException as error:
        return _misused(error)
    except (click.Abort, InterruptedCommandError):
        raise KeyboardInterrupt from None


def _misused(error: click.ClickException) -> int:
    """Wrong usage: one line like any other error; the whole help for who gave no command at all."""
    if type(error).__name__ == "NoArgsIsHelpError":  # of click 8.2 and later
        error.show(sys.stderr)
        return MISUSED
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "verifygate"
    message = " ".join(error.format_message().split())
    print(f"verifygate: error: {message.rstrip('.')} (`{command} --help` says what there is)", file=sys.stderr)
    return MISUSED


def _broke(error: Exception) -> int:
    """A fault of the gate's own: one line, and the traceback only for those who ask."""
    import traceback

    place = traceback.extract_tb(error.__traceback__)[-1]
    print(
        f"verifygate: the gate itself broke: {type(error).__name__}: {error} "
        f"(in {Path(place.filename).name}:{place.lineno}); VERIFYGATE_DEBUG=1 shows the traceback",
        file=sys.stderr,
    )
    if os.environ.get("VERIFYGATE_DEBUG"):
        traceback.print_exception(error)
    return BROKEN


def _terminated(_number: int, _frame: object) -> NoReturn:
    raise SystemExit(143)  # unwinds, so that children are killed and half-written reports removed
