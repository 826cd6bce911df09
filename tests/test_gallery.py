"""Each loop of the gallery is right, and its one broken line is found by its source and by a run."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.config.rule_selection import RuleSelection
from verifygate.config.settings import OraclesSettings, ResumeSettings
from verifygate.execution.oracles import resume
from verifygate.execution.oracles.runs import answered
from verifygate.model import Status
from verifygate.process.subject import Subject
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse

pytest.importorskip("sklearn")
ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "reference_impl" / "gallery"
BREAKS = tomllib.loads((GALLERY / "breaks.toml").read_text(encoding="utf-8"))
LOOPS = sorted(each.stem for each in GALLERY.glob("*.py") if each.stem not in ("__init__", "tasks"))
RANKS = ("ddp", "fsdp_bf16", "fsdp_fp16")
TOGETHER = [name for name in LOOPS if name not in ("compiled", "cuda_graph", *RANKS)]
"""Run in one process. Not what needs a C++ compiler, or CUDA."""
ALONE = ("averaged", "bf16", "custom_function", *RANKS, "cuda_graph", "gradient_penalty")
"""Whose broken line shows in what a whole run comes to, or in how it ends."""
ALL = """
import runpy, sys, traceback
failed = False
for name in sys.argv[1:]:
    sys.argv[:] = [name, "--steps", "8"]
    try:
        runpy.run_module(f"reference_impl.gallery.{name}", run_name="__main__")
    except Exception:
        traceback.print_exc()
        failed = True
sys.exit(failed)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the gallery that may be broken."""
    shutil.copytree(GALLERY, tmp_path / "reference_impl" / "gallery", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "reference_impl" / "__init__.py").touch()
    return tmp_path


def broken(name: str, copy: Path) -> Path:
    """The copy, with the one line of a loop broken."""
    file = copy / "reference_impl" / "gallery" / f"{name}.py"
    text = file.read_text(encoding="utf-8")
    assert text.count(BREAKS[name]["line"]) == 1
    file.write_text(text.replace(BREAKS[name]["line"], BREAKS[name]["broken"]), encoding="utf-8")
    return copy


def told(root: Path, *names: str) -> set[str]:
    """The codes of what is found in loops, or in all of them."""
    files = [GALLERY / f"{name}.py" for name in (*names, "tasks")] if names else [GALLERY]
    paths = [each.relative_to(ROOT).as_posix() for each in files]
    return {each.rule for each in analyse(read_sources(root, paths), RuleSelection()).findings}


def test_each_loop_has_a_line_that_breaks_it() -> None:
    assert sorted(BREAKS) == LOOPS
    assert [name for name, each in BREAKS.items() if each.keys() != {"line", "broken", "static", "run"}] == []


def test_each_loop_is_short_enough_to_copy() -> None:
    assert max(len((GALLERY / f"{name}.py").read_text(encoding="utf-8").splitlines()) for name in LOOPS) <= 80


def test_the_readme_names_each_loop_and_what_its_broken_line_is_found_as() -> None:
    rows = [line for line in (GALLERY / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| [")]
    shown = {row.split("`")[1].removesuffix(".py"): row for row in rows}
    assert sorted(shown) == LOOPS
    for name, row in shown.items():
        said = [cell.strip() for cell in row.strip("|").split("|")][-2:]
        assert said == [BREAKS[name]["static"], BREAKS[name]["run"]], name


def test_the_loops_that_the_documentation_shows_are_the_files() -> None:
    page = (ROOT / "verifygate" / "docs" / "loops.md").read_text(encoding="utf-8")
    shown = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", page, flags=re.DOTALL)
    assert [name for name, _ in shown] == ["accumulation.py", "ddp.py", "resumed.py"]
    for name, code in shown:
        assert code in (GALLERY / name).read_text(encoding="utf-8"), name


def test_nothing_is_found_in_what_is_right() -> None:
    assert told(ROOT) == set()


@pytest.mark.parametrize("name", LOOPS)
def test_the_source_shows_the_broken_line(name: str, copy: Path) -> None:
    assert BREAKS[name]["static"] in told(broken(name, copy), name)


@pytest.mark.slow
def test_a_run_of_what_is_right_is_clean(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = probed(TOGETHER, copy, monkeypatch, capsys)
    assert (code, json.loads(said)["findings"]) == (0, []), said


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RANKS, "cuda_graph"])
def test_a_run_by_itself_is_clean(
    name: str, copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = probed([name], copy, monkeypatch, capsys)
    assert (code, json.loads(said)["findings"]) == (0, []), said


@pytest.mark.slow
def test_a_run_shows_the_broken_lines(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each in its own file, and nothing else."""
    names = [name for name in TOGETHER if name not in (*ALONE, "resumed")]
    for name in names:
        broken(name, copy)
    code, said = probed(names, copy, monkeypatch, capsys)
    found = {(each["path"], each["rule"]) for each in json.loads(said)["findings"]}
    assert code == 1
    assert found == {(f"reference_impl/gallery/{name}.py", BREAKS[name]["run"]) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALONE)
def test_a_run_shows_the_broken_line(
    name: str, copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = probed([name], broken(name, copy), monkeypatch, capsys)
    assert code
    assert BREAKS[name]["run"] in said


@pytest.mark.slow
def test_a_resumed_run_shows_the_broken_line(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The oracle that fits names what was not restored. That what is right has the same bits, `make gallery` asks."""
    broken("resumed", copy).joinpath("reference_impl/gallery/resumed.py").rename(copy / "broken.py")
    command = "python broken.py --steps 8 --checkpoint {temporary}/last.pt"
    settings = OraclesSettings(resume=(ResumeSettings(train=command, resume=command),), steps=4)
    folder = tmp_path_factory.mktemp("runs")
    (lost,) = answered(Subject(copy, Path(sys.executable)), folder, resume.questions(settings, copy, folder))
    assert lost.status is Status.FAIL, lost.actual
    assert BREAKS["resumed"]["run"] in lost.actual


def probed(
    names: Sequence[str], root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """The exit code of a probe of eight steps of each, and what it says."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    program = ["-m", f"reference_impl.gallery.{names[0]}", "--steps", "8"]
    if len(names) > 1:
        (root / "all.py").write_text(ALL, encoding="utf-8")
        program = ["all.py", *names]
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"] if names[0] in RANKS else []
    options = ["--emulate-cuda"] if names[0] == "cuda_graph" else []
    code = main(["probe", "--format", "json", *options, "--", sys.executable, *launcher, *program])
    return code, capsys.readouterr().out
