"""Tell errors that the emulation of CUDA causes from those of the project."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath

LIMITS = re.compile(
    r"NotEmulatedError|not compiled with CUDA|not linked with support for cuda|Cannot initialize CUDA|NVIDIA driver"
    r"|Cannot access accelerator|from the 'CUDA' backend|CUDA_HOME|\bnvcc\b|No available kernel|No module named 'triton"
    r"|(?<!_cuda\") not implemented for '(Half|BFloat16|ComplexHalf)'|torch\._C.*'_(cuda|nccl)_\w+'"
    r"|\blib(cuda|cudart|cudnn|cublas|nccl)\w*\.so"
)
"""What the CPU, or the emulation, says where it has no answer and a CUDA device would have one."""
LAUNCHER = re.compile(
    r"environment variable (RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT) expected|"
    r"KeyError: '(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT)'|No module named 'mpi4py'"
)
"""What a program says that a launcher starts, `torchrun` or `deepspeed`, where nothing has set its environment."""
AS_ON_CUDA = re.compile(
    r"^AssertionError|unsafe to autocast|can't convert cuda:0 device|_cuda\" not implemented for"
    r"|^TypeError: cannot pin '"
)
"""What a CUDA device says as well, and what compares values."""
EXTENSION = re.compile(r"operator (?P<package>(?!aten::|prims?::|_?c10d)\w+)::\w+ does not exist")
"""What torch says where a package's compiled operators were not loaded."""
NAMES_CUDA = re.compile(r"cuda|nccl|torch\._C\b|\bgpus?\b", re.IGNORECASE)
_INSTALLED = ("site-packages", "dist-packages")


def cause_in_the_emulation(said: str, trace: Sequence[tuple[str, int]], inside: Callable[[str], str | None]) -> str:
    """What stands in the way of the code, if not the code itself; empty where the error is its own.

    `said` is type and message of the error, `trace` path and line of its frames, outermost first; `inside` gives the
    path below the project's root, None for what lies elsewhere.
    """
    if LIMITS.search(said):
        return "that is a limit of the emulation"
    if LAUNCHER.search(said):
        return "that takes the environment that a launcher such as torchrun sets"
    if missing := EXTENSION.search(said):
        name = missing["package"]
        return f"the compiled operators of {name} were not loaded: install its build for this torch"
    package, line = _raised_in_a_package(trace, inside)
    if package and not AS_ON_CUDA.search(said) and NAMES_CUDA.search(f"{said}\n{line}"):
        return f"{package} asks for something of CUDA that is not emulated"
    return ""


def _raised_in_a_package(trace: Sequence[tuple[str, int]], inside: Callable[[str], str | None]) -> tuple[str, str]:
    """The installed file that raised, as `torch/cuda/nccl.py:12`, and the line there; empty for the project's code.

    What Python's own library raises is put down to whoever called it.
    """
    for path, number in reversed(trace):
        parts = PurePath(path).parts
        installed = [at for at, part in enumerate(parts) if part in _INSTALLED]
        if inside(path) is not None and not installed:
            return "", ""
        if installed:
            return f"{'/'.join(parts[installed[-1] + 1 :])}:{number}", linecache.getline(path, number)
    return "", ""
