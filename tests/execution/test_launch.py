"""A script under the launcher finds the world that it finds without it, and instruments are there before torch is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.execution.instruments import Launched, launch
from verifygate.process.subject import Subject

WORLD = """
import sys, json
from neighbour import NAME
print(json.dumps([sys.argv, __name__, __file__, __package__, sys.path[0], NAME, "__main__" in sys.modules]))
import __main__
assert __main__.NAME == NAME and __main__.__file__ == __file__
"""
FAKE_TORCH = "import sys\n__version__ = '0'\nstate = 'executed'\n"


def run(root: Path, *command: str, instruments: tuple[tuple[str, dict[str, object]], ...] = ()) -> Launched:
    folder = root / ".private"
    folder.mkdir()
    return launch(Subject(root, Path(sys.executable)), command, instruments, folder=folder, seconds=600)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "neighbour.py").write_text("NAME = 'beside the script'\n")
    return tmp_path


def plain(root: Path, *command: str) -> tuple[int, str, str]:
    """The same command without the launcher."""
    done = Subject(root, Path(sys.executable)).run(list(command), seconds=600)
    return done.exit_code, done.stdout_tail, done.stderr_tail


def launched(root: Path, *command: str) -> tuple[int, str, str]:
    done = run(root, *command).completed
    return done.exit_code, done.stdout_tail, done.stderr_tail


def test_a_script_sees_its_own_world(project: Path):
    (project / "inner" / "train.py").write_text(WORLD)
    assert launched(project, "inner/train.py", "--lr", "1") == plain(project, "inner/train.py", "--lr", "1")


def test_a_module_sees_its_own_world(project: Path):
    (project / "neighbour.py").write_text("NAME = 'in the working folder'\n")
    (project / "inner" / "__init__.py").touch()
    (project / "inner" / "__main__.py").write_text(WORLD)
    expected = plain(project, "-m", "inner", "--lr", "1")
    assert expected[0] == 0, expected
    assert launched(project, "-m", "inner", "--lr", "1") == expected


@pytest.mark.parametrize(
    "body",
    [
        "raise SystemExit",
        "raise SystemExit(7)",
        "raise SystemExit('a last word')",
        "raise ValueError('wrong')",
        "def f():\n    raise ValueError('wrong')\ntry:\n    f()\nexcept ValueError as e:\n    raise KeyError(1) from e",
        "this is no python",
        "import os; os._exit(3)",
        "import atexit, __main__; atexit.register(lambda: print('at exit', hasattr(__main__, 'flag'))); flag = 1",
    ],
)
def test_the_end_is_the_same(project: Path, body: str):
    """Exit code, output and traceback: none of our frames is in it."""
    (project / "train.py").write_text(body + "\n")
    assert launched(project, "train.py") == plain(project, "train.py")


def test_a_script_that_is_not_there(project: Path):
    code, out, err = launched(project, "none.py")
    assert (code, out) == (2, "")
    assert err == plain(project, "none.py")[2]


def test_an_interrupt_ends_as_in_a_shell(project: Path):
    (project / "train.py").write_text("raise KeyboardInterrupt\n")
    done = run(project, "train.py")
    assert done.completed.exit_code == 130
    assert done.ended is not None
    assert done.ended["error"] == "KeyboardInterrupt"


def test_what_cannot_be_installed_is_told(project: Path):
    (project / "torch.py").write_text(FAKE_TORCH)
    (project / "train.py").write_text("import torch; print(torch.state, type(torch.__loader__).__name__)\n")
    done = run(project, "train.py", instruments=(("no-such", {}),))
    assert done.completed.stdout_tail == "executed SourceFileLoader\n"
    assert done.failed == ("no-such: KeyError: 'no-such'",)
    assert done.installed == ()
    assert done.ended == {"event": "ended", "how": "returned", "code": 0}


def test_nothing_is_installed_without_torch(project: Path):
    (project / "train.py").write_text("print('no torch here')\n")
    done = run(project, "train.py", instruments=(("recorder", {}),))
    assert [one["event"] for one in done.told] == ["launched", "ended"]


def test_a_death_has_no_end(project: Path):
    (project / "train.py").write_text("import os; os._exit(0)\n")
    done = run(project, "train.py")
    assert done.completed.exit_code == 0
    assert done.ended is None
