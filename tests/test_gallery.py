"""Each loop of the gallery is right, and its one broken line is found: by its source, by a run, or by both."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse

pytest.importorskip("sklearn")
ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "reference_impl" / "gallery"
BREAKS = tomllib.loads((GALLERY / "breaks.toml").read_text(encoding="utf-8"))
LOOPS = sorted(each.stem for each in GALLERY.glob("*.py") if each.stem not in ("__init__", "tasks"))
RANKS = frozenset({"ddp", "fsdp_bf16", "fsdp_fp16"})
RUN = [name for name in LOOPS if name not in ("compiled", "cuda_graph")]
"""Not what needs a C++ compiler, or a CUDA device whose graphs are no emulation's."""


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
    assert [name for name, each in BREAKS.items() if "static" not in each and "run" not in each] == ["ddp"]


def test_each_loop_is_short_enough_to_copy() -> None:
    assert max(len((GALLERY / f"{name}.py").read_text(encoding="utf-8").splitlines()) for name in LOOPS) <= 80


def test_the_readme_names_each_loop_and_what_its_broken_line_is_found_as() -> None:
    rows = [line for line in (GALLERY / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| [")]
    shown = {row.split("`")[1].removesuffix(".py"): row for row in rows}
    assert sorted(shown) == LOOPS
    for name, row in shown.items():
        said = [cell.strip() for cell in row.strip("|").split("|")][-2:]
        assert said == [BREAKS[name].get("static", "not found"), BREAKS[name].get("run", "not run")], name


def test_nothing_is_found_in_what_is_right() -> None:
    assert told(ROOT) == set()


@pytest.mark.parametrize("name", sorted(name for name, each in BREAKS.items() if "static" in each))
def test_the_source_shows_the_broken_line(name: str, copy: Path) -> None:
    assert BREAKS[name]["static"] in told(broken(name, copy), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_a_run_of_what_is_right_is_clean(
    name: str, copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = probed(name, copy, monkeypatch, capsys)
    assert (code, json.loads(said)["findings"]) == (0, []), said


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(name for name, each in BREAKS.items() if "run" in each and name in RUN))
def test_a_run_shows_the_broken_line(
    name: str, copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = probed(name, broken(name, copy), monkeypatch, capsys)
    assert code
    assert BREAKS[name]["run"] in said


def probed(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """The exit code of a probe of eight steps, and what it says."""
    monkeypatch.chdir(root)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"] if name in RANKS else []
    command = [sys.executable, *launcher, "-m", f"reference_impl.gallery.{name}", "--steps", "8"]
    code = main(["probe", "--format", "json", "--", *command])
    return code, capsys.readouterr().out
