"""Whose fault is an error under emulated CUDA: the project's, or that of what is not emulated?"""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.execution.emulation_limits import cause_in_the_emulation


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """An installed package whose second line names CUDA, beside a project."""
    folder = tmp_path / "venv" / "lib" / "site-packages" / "kernels"
    folder.mkdir(parents=True)
    (folder / "graphs.py").write_text("import torch\nGraph = torch.cuda.Graph | None\nGraph()\n", encoding="utf-8")
    return folder


def cause(packages: Path, said: str, *frames: tuple[str, int]) -> str:
    """`frames` are named as `train.py` (the project's), `graphs.py` (the package's), `json` (Python's)."""
    project = packages.parents[3] / "project"
    places = {"train.py": project / "train.py", "graphs.py": packages / "graphs.py", "json": Path("/usr/lib/json.py")}

    def inside(path: str) -> str | None:
        return Path(path).name if Path(path).is_relative_to(project) else None

    return cause_in_the_emulation(said, [(str(places[name]), line) for name, line in frames], inside)


IN_THE_PACKAGE = "kernels/graphs.py:{} asks for something of CUDA that is not emulated"
OPERAND = "TypeError: unsupported operand type(s) for |: 'function' and 'NoneType'"
MISSING = "AttributeError: module 'torch._C' has no attribute '_cuda_getCurrentRawStream'"
NOT_LOADED = "the compiled operators of torchvision were not loaded: install its build for this torch"
LAUNCHER = "that takes the environment that a launcher such as torchrun sets"


@pytest.mark.parametrize(
    ("said", "frames", "found"),
    [
        (OPERAND, (("train.py", 3), ("graphs.py", 2)), IN_THE_PACKAGE.format(2)),  # its line names CUDA
        (OPERAND, (("train.py", 3), ("graphs.py", 3)), ""),  # nothing names it
        (OPERAND, (("graphs.py", 2), ("train.py", 3)), ""),  # a callback of the project's raised
        ("RuntimeError: CUDA driver is too old", (("train.py", 3), ("graphs.py", 3)), IN_THE_PACKAGE.format(3)),
        ("RuntimeError: CUDA driver is too old", (("graphs.py", 3), ("json", 9)), IN_THE_PACKAGE.format(3)),
        ("RuntimeError: CUDA driver is too old", (("train.py", 3), ("json", 9)), ""),
        ("RuntimeError: CUDA driver is too old", (), ""),
        (MISSING, (("train.py", 3),), "that is a limit of the emulation"),
        ("OSError: libcudart.so.12: cannot open shared object file", (), "that is a limit of the emulation"),
        ("ValueError: ... environment variable RANK expected, but not set", (("train.py", 3),), LAUNCHER),
        ("KeyError: 'WORLD_SIZE'", (("train.py", 3),), LAUNCHER),
        ("RuntimeError: operator torchvision::nms does not exist", (("graphs.py", 2),), NOT_LOADED),
        # what a CUDA device says as well
        ("TypeError: can't convert cuda:0 device type tensor to numpy", (("train.py", 3), ("graphs.py", 2)), ""),
        ("NotImplementedError: \"_amp_unscale_cuda\" not implemented for 'BFloat16'", (("graphs.py", 2),), ""),
        ("AssertionError: The values for attribute 'device' do not match: cuda:0 != cpu", (("graphs.py", 2),), ""),
    ],
)
def test_an_error_is_put_down_to_the_emulation_only_by_what_it_says_and_where(
    packages: Path, said: str, frames: tuple[tuple[str, int], ...], found: str
):
    assert cause(packages, said, *frames) == found
