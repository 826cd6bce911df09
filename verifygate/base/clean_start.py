"""Keep the checkout that the gate is started in away from the gate's own process: its modules and its programs.

`python -m` and PYTHONPATH put folders in front of Python's own modules, and PATH may name folders of the checkout: a
`json.py` or a `bin/git` of the tree would run as a part of the gate. This has to run first, and imports nothing that
Python has not loaded already.
"""

# ruff: noqa: PTH100, PTH109, PTH117, PTH118, PTH120 - pathlib would be an import
import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
"""The folder that this installation is imported from."""
_AS_IT_WAS = "VERIFYGATE_PROJECTS_PATH"


def projects_path() -> str:
    """The PATH as it was at the start: processes of the project look for their programs in it."""
    return os.environ.get(_AS_IT_WAS) or os.environ.get("PATH", os.defpath)


def leave_out_checkout() -> None:
    """Take the checkout around the working folder off the module path and PATH; child processes inherit that.

    It cannot undo what was imported before: `python -I -m verifygate` and the installed script begin without the
    working folder.
    """
    os.environ["PYTHONSAFEPATH"] = "1"  # for Python's own helper processes too, which start as `python -c`
    try:
        here = os.getcwd()
    except OSError:  # it is gone, and so is what was in it
        return
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", here):
        del sys.path[0]
    checkout = _checkout(here)
    modules = os.environ.get("PYTHONPATH")
    if modules:
        kept, dropped = _divided(modules, checkout)
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
        paths = {os.path.abspath(entry) for entry in dropped}
        sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) not in paths]
    programs = os.environ.get("PATH", "")
    kept, dropped = _divided(programs, checkout)
    if dropped:
        os.environ.setdefault(_AS_IT_WAS, programs)
        os.environ["PATH"] = os.pathsep.join(kept)


def _checkout(folder: str) -> str:
    """The root of the repository around a folder; the folder itself, where there is none."""
    above = root = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(above, ".git")):
        if above == os.path.dirname(above):
            return root
        above = os.path.dirname(above)
    return above


def _divided(entries: str, checkout: str) -> tuple[list[str], list[str]]:
    """Those that may stay; and those that are relative, or lie in the checkout, but for this installation's own."""
    kept: list[str] = []
    dropped: list[str] = []
    for entry in entries.split(os.pathsep):
        real = os.path.realpath(entry)
        inside = not os.path.isabs(entry) or (real + os.sep).startswith(checkout + os.sep)
        (dropped if inside and real != HOME else kept).append(entry)
    return kept, dropped
