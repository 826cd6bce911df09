"""What to do where the surroundings of a run lack something: the same sentences in a run's remedies and in `doctor`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from verifygate.base.counts import counted

MISSING_MODULE = re.compile(r"No module named '([\w.]+)'")
NO_DEVICE = re.compile(
    r"Torch not compiled with CUDA enabled|Found no NVIDIA driver|No CUDA GPUs are available"
    r"|torch\.cuda\.is_available\(\) is False"
)
"""What torch raises where a device is asked for and there is none."""
_FOLDERS = ("src", "lib", "python")
"""Where a project's own packages often lie, besides its root."""
MOST_REASONS = 3
NAME_ANOTHER = "name the project's Python in `[execution] interpreter`, for example `.venv/bin/python`"
"""For an interpreter that cannot be started, or says nothing."""


def without_torch(interpreter: str) -> str:
    """For an interpreter that is to run training code."""
    return f"torch is not installed in {interpreter}: {_install('torch')}"


def without_pytest(interpreter: str) -> str:
    """For an interpreter that is to run tests."""
    return f"pytest is not installed in {interpreter}: {_install('pytest')}"


def without_cuda(*, emulated: bool) -> str:
    """Where code asks for a device: whether it was `emulated` already."""
    if emulated:
        return "no CUDA here: run the gate on a machine with CUDA as well, for what is not emulated"
    return "no CUDA here: try `--emulate-cuda`, or run on a machine with CUDA"


def for_imports(reasons: Iterable[str], interpreter: str, root: Path) -> str:
    """Where files could not be imported: what to do about the modules that were missing, else about the files."""
    missing = list(dict.fromkeys(found[1] for reason in reasons if (found := MISSING_MODULE.search(reason))))
    if not missing:
        return "make the file importable: the reason is what its import raised"
    told = [_about(module, interpreter, root) for module in missing[:MOST_REASONS]]
    more = f"; and {counted(len(missing) - MOST_REASONS, 'more module')}" if len(missing) > MOST_REASONS else ""
    return "; ".join(told) + more


def for_failure(error: str, interpreter: str, root: Path) -> str:
    """What the surroundings lack, where that is why code failed; empty where the error does not say so."""
    if MISSING_MODULE.search(error):
        return for_imports([error], interpreter, root)
    return without_cuda(emulated=False) if NO_DEVICE.search(error) else ""


def for_skips(reasons: Iterable[str]) -> str:
    """Where tests were skipped: the reasons that they give themselves, the most frequent first."""
    counts = Counter(reason or "no reason given" for reason in reasons)
    first = [f'"{reason}" ({counted(number, "test")})' for reason, number in counts.most_common(MOST_REASONS)]
    more = f" and {counted(len(counts) - MOST_REASONS, 'more reason')}" if len(counts) > MOST_REASONS else ""
    return f"provide what the skips ask for: {', '.join(first)}{more}"


def _about(module: str, interpreter: str, root: Path) -> str:
    """A module that the interpreter does not find: a part of the project, or of something to install."""
    top, _, rest = module.partition(".")
    if top == "torch":
        return without_torch(interpreter)
    if _lies_in(root, top):
        if rest:
            return f"the project has `{top}` and no `{module}`: correct the import, or add the module"
        return f"`{top}` lies in the project's root: look for what takes that off `sys.path` before the import"
    for folder in _folders(root):
        if _lies_in(folder, top):
            where = folder.relative_to(root).as_posix()
            return (
                f"`{top}` lies in `{where}`, which is not on the module path: set `pythonpath = {where}` in pytest's "
                f"configuration, or install the project in {interpreter}"
            )
    return (
        f"the module `{top}` is missing in {interpreter}: install the package that has it there, "
        "or name the Python that has it in `[execution] interpreter`"
    )


def is_of_the_project(module: str, root: Path) -> bool:
    """Whether the first part of a module's name lies in the project, wherever that may be in it."""
    top = module.partition(".")[0]
    return any(_lies_in(folder, top) for folder in (root, *_folders(root)))


def _folders(root: Path) -> list[Path]:
    """Folders of the project that may hold its packages."""
    try:
        inner = sorted(each for each in root.iterdir() if each.is_dir() and not each.name.startswith((".", "_")))
    except OSError:
        return []
    inner = [each for each in inner if not (each / "pyvenv.cfg").exists()]
    return sorted(inner, key=lambda each: (each.name not in _FOLDERS, each.name))


def _lies_in(folder: Path, top: str) -> bool:
    return (folder / f"{top}.py").is_file() or (folder / top / "__init__.py").is_file()


def _install(package: str) -> str:
    return (
        f"install it there (`python -m pip install {package}`), "
        "or name the Python that has it in `[execution] interpreter`"
    )
