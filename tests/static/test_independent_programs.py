"""Large trees in parts: what is apart, and that no answer depends on the parts, the processes or what was kept."""

from __future__ import annotations

import base64
import os
import pickle
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from verifygate.base import answer_store, cache_folder
from verifygate.base.cpu_time import Timings
from verifygate.change.base_findings import BaseFindings
from verifygate.check.part_cache import _SHELF, KeptParts
from verifygate.cli import main
from verifygate.config.rule_selection import RuleSelection
from verifygate.config.tree_versions import versions_of_tree
from verifygate.model import Finding, NotFollowed
from verifygate.sources import tree
from verifygate.sources.discovery import read_sources
from verifygate.sources.tree import Sources
from verifygate.static import engine
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import Means, analyse
from verifygate.static.independent_programs import parts_of
from verifygate.static.part_analysis import Task

CASES = Path(__file__).parent / "cases"
TRAINS = """\
import torch


def main(model, optimizer, batches, scaler=torch.amp.GradScaler("cuda")):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        optimizer.{step}()
        scaler.update()
"""


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tree is a large one."""
    monkeypatch.setattr(tree, "LARGE_BYTES", 1)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first file of each part that is really analysed, which is in this process."""
    first: list[str] = []
    original = engine.analyse_part

    def watched(part: Sources, task: Task, timings: Timings) -> AnalysisResult:
        first.append(next(iter(part.paths)))
        return original(part, task, timings)

    monkeypatch.setattr(engine, "analyse_part", watched)
    monkeypatch.setattr(engine, "can_fork", lambda: False)
    return first


def made(root: Path, **files: str) -> Sources:
    """Sources of files whose names have `__` for the slash."""
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_sources(root, ["."])


def commit_all(root: Path) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=root, check=True)


def apart(sources: Sources) -> list[list[str]]:
    return [[file.path for file in part] for part in parts_of(sources)]


def test_what_nothing_connects_is_apart(tmp_path: Path):
    """By an import, in either direction; and files in one folder, which may be programs of one person."""
    sources = made(
        tmp_path,
        a__train="from shared import model",
        a__test="",
        shared__model="",
        b__train="import torch",
        c__x="import json",
    )
    assert apart(sources) == [["a/test.py", "a/train.py", "shared/model.py"], ["b/train.py"], ["c/x.py"]]


def test_a_package_is_one_part(tmp_path: Path):
    """Python runs `__init__.py` of each package around a module, whether anything there names the module or not."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p/__init__.py").write_text("")
    (tmp_path / "p/inner").mkdir()
    (tmp_path / "p/inner/__init__.py").write_text("")
    assert apart(made(tmp_path, p__inner__deep="", q__other="")) == [
        ["p/__init__.py", "p/inner/__init__.py", "p/inner/deep.py"],
        ["q/other.py"],
    ]


@pytest.mark.parametrize("line", ["import ours.amp as amp", "from ours import amp", "import json, ours"])
def test_a_package_that_is_installed_is_connected(tmp_path: Path, line: str):
    """Programs of a tree may use a library of it that they do not lie beside: the one of that name."""
    made(tmp_path, apps__one__train=line, libs__ours__ours__amp="import torch", other__x="import json")
    (tmp_path / "libs/ours/ours/__init__.py").write_text("")
    (tmp_path / "libs/ours/pyproject.toml").write_text("")
    sources = read_sources(tmp_path, ["."])
    assert apart(sources) == [
        ["apps/one/train.py", "libs/ours/ours/__init__.py", "libs/ours/ours/amp.py"],
        ["other/x.py"],
    ]


def test_of_several_packages_of_a_name_none_is_meant(tmp_path: Path):
    """Copies of a library in several programs: who imports it from elsewhere means the one that is published."""
    (tmp_path / "a/lib").mkdir(parents=True)
    (tmp_path / "b/lib").mkdir(parents=True)
    for place in ("a/lib/__init__.py", "b/lib/__init__.py", "a/pyproject.toml", "b/pyproject.toml"):
        (tmp_path / place).write_text("")
    sources = made(tmp_path, c__train="import lib")
    assert apart(sources) == [["a/lib/__init__.py"], ["b/lib/__init__.py"], ["c/train.py"]]


def test_what_loads_modules_by_name_is_one_part_with_all_below_it(tmp_path: Path):
    """A registry imports what its configuration names."""
    sources = made(
        tmp_path,
        a__main="import importlib\nimportlib.import_module(name)\n",
        a__plugins__one="",
        a__plugins__deep__two="",
        b__plugins__three="",
    )
    assert apart(sources) == [["a/main.py", "a/plugins/deep/two.py", "a/plugins/one.py"], ["b/plugins/three.py"]]


def test_a_link_connects_those_who_use_it(tmp_path: Path):
    """The file that it leads to runs with what imports the link."""
    made(tmp_path, a__model="import torch", b__train="from model import net", c__train="")
    (tmp_path / "b/model.py").symlink_to("../a/model.py")
    once = engine.one_of_each(read_sources(tmp_path, ["."]))
    assert apart(once) == [["a/model.py", "b/train.py"], ["c/train.py"]]


def test_a_configuration_goes_to_the_part_around_it(tmp_path: Path):
    """And to every part where none is nearer than another."""
    made(tmp_path, a__train="import torch", b__train="import torch")
    (tmp_path / "a/conf").mkdir()
    for place in ("a/conf/ds.json", "b/ds.json", "top.json"):
        (tmp_path / place).write_text("{}")
    parts = parts_of(read_sources(tmp_path, ["."]))
    assert [[each.path for each in part.configuration] for part in parts] == [
        ["a/conf/ds.json", "top.json"],
        ["b/ds.json", "top.json"],
    ]


def test_what_reads_a_configuration_goes_with_it(tmp_path: Path):
    """Wherever it lies; with the programs nearest to it, and what else reads it."""
    starts = "import deepspeed\nimport torch\ndeepspeed.initialize(config='{}')\n"
    made(tmp_path, a__train=starts.format("far/ds.json"), b__tune=starts.format("far/ds.json"), c__train="import torch")
    made(tmp_path, d__x__train=starts.format("../y/zero.json"), d__y__tool="import torch", e__train="import torch")
    for place in ("far/ds.json", "d/y/zero.json", "e/other.json"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text('{"fp16": {"enabled": true, "loss_scale": 0}}')
    parts = parts_of(read_sources(tmp_path, ["."]))
    assert [([file.path for file in part], [each.path for each in part.configuration]) for part in parts] == [
        (["a/train.py", "b/tune.py"], ["far/ds.json"]),
        (["c/train.py"], []),
        (["d/x/train.py", "d/y/tool.py"], ["d/y/zero.json"]),
        (["e/train.py"], ["e/other.json"]),
    ]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A tree of programs: the cases of several files, each in a folder of its own."""
    for number, case in enumerate(sorted(CASES.glob("*/bad_*/"))):
        if number % 3 == 0:
            shutil.copytree(case, tmp_path / "tree" / f"{case.parent.name}_{case.name}")
    return tmp_path / "tree"


def told(findings: tuple[Finding, ...], below: str = "") -> set[tuple[str, ...]]:
    return {(each.rule, f"{below}{each.path}", str(each.line), str(each.certainty), each.message) for each in findings}


@pytest.mark.slow
@pytest.mark.usefixtures("large")
def test_a_program_is_told_the_same_alone_and_among_others(many: Path):
    """What the tree around a program holds changes nothing of what is said of it."""
    alone: set[tuple[str, ...]] = set()
    for folder in sorted(many.iterdir()):
        alone |= told(analyse(read_sources(folder, ["."]), RuleSelection()).findings, f"{folder.name}/")
    among = told(analyse(read_sources(many, ["."]), RuleSelection()).findings)
    assert len(among) > 30
    assert among == alone


@pytest.mark.slow
@pytest.mark.usefixtures("large")
def test_processes_change_nothing(many: Path):
    """One process, several, or none beside this one: the same result, with the constructs and the contract."""
    results = [
        analyse(read_sources(many, ["."]), RuleSelection(), means=Means(jobs, None, Timings()))
        for jobs in (None, 1, 2, 0)
    ]
    assert results[0].constructs
    assert results[0].contract.rows
    assert all(each == results[0] for each in results)


@pytest.mark.usefixtures("large")
def test_a_changed_file_makes_its_own_part_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: list[str]):
    """The other parts are recalled; the answer is that of an analysis that keeps nothing."""
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "cache"))
    root = tmp_path / "tree"
    made(root, a__train=TRAINS.format(step="step"), b__train=TRAINS.format(step="zero_grad"), c__other="")

    def asked(kept: KeptParts | None) -> AnalysisResult:
        seen.clear()
        return analyse(read_sources(root, ["."]), RuleSelection(), means=Means(kept=kept))

    first = asked(KeptParts())
    assert seen == ["a/train.py", "b/train.py", "c/other.py"]
    assert asked(KeptParts()) == first
    assert seen == []
    (root / "b/train.py").write_text(TRAINS.format(step="step"))
    changed = asked(KeptParts())
    assert seen == ["b/train.py"]
    assert changed == asked(None)
    assert len(changed.findings) > len(first.findings)


@pytest.mark.usefixtures("large")
def test_what_changes_during_an_analysis_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The result is kept under the files that it is of, and not under those that lie there when it is kept."""
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "cache"))
    root = tmp_path / "tree"
    made(root, a__train=TRAINS.format(step="step"), b__train="import deepspeed\nimport torch\nopen('ds.json')\n")
    (root / "b/ds.json").write_text('{"fp16": {"enabled": true, "loss_scale": 0}}')
    original = engine.analyse_part

    def watched(part: Sources, task: Task, timings: Timings) -> AnalysisResult:
        (root / "b/ds.json").write_text('{"bf16": {"enabled": true}}')
        return original(part, task, timings)

    monkeypatch.setattr(engine, "analyse_part", watched)
    before = analyse(read_sources(root, ["."]), RuleSelection(), means=Means(kept=KeptParts()))
    after = analyse(read_sources(root, ["."]), RuleSelection(), means=Means(kept=KeptParts()))
    assert after == analyse(read_sources(root, ["."]), RuleSelection())
    assert after.contract != before.contract


@pytest.mark.usefixtures("large")
def test_the_base_of_a_change_is_worked_out_where_it_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: list[str]
):
    """Its other parts are those of today."""
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "cache"))
    root = tmp_path / "tree"
    made(root, a__train=TRAINS.format(step="step"), b__train=TRAINS.format(step="step"))
    commit_all(root)
    (root / "b/train.py").write_text(TRAINS.format(step="zero_grad"))
    rules = RuleSelection().allowing(versions_of_tree(["a/train.py", "b/train.py"], root))
    analyse(read_sources(root, ["."]), rules, with_constructs=False, means=Means(kept=KeptParts()))
    assert len(seen) == 2
    base = BaseFindings.at(root, "HEAD", lambda _: True, rules, KeptParts())
    assert {each.path for each in base.analysed.findings} == {"a/train.py", "b/train.py"}
    assert seen[2:] == ["b/train.py"]


@pytest.mark.usefixtures("large")
def test_the_proof_of_a_fix_looks_at_its_part_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seen: list[str]
):
    """Both programs are analysed for findings, and once more for proofs; with the fix, only the one that it is in."""
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    text = TRAINS.format(step="step")
    made(tmp_path, a__train=text.replace('amp.GradScaler("cuda")', "cuda.amp.GradScaler()"), b__train=text)
    assert main(["check", "--select", "AMP501", "--format", "sarif", "."]) == 1
    assert '"replacements"' in capsys.readouterr().out
    assert seen == ["a/train.py", "b/train.py"] * 2 + ["a/train.py"]


class Harm:
    """What a file that claims to be a result might hold."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("harmed",)


def calling(module: str, name: str) -> bytes:
    """A pickle that calls what a module has under that name, which may have dots, to make a folder."""
    command = pickle.dumps(["mkdir", "harmed"], 4)[:-1].partition(b"]")[2]
    return b"\x80\x04c" + f"{module}\n{name}\n".encode() + b"]" + command + b"\x85R."


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Harm()),
        pickle.dumps(("a tuple",)),
        pickle.dumps(NotFollowed(path="a", line=1, reason="b")),
        calling("verifygate.process.subject", "subprocess.Popen"),
    ],
    ids=["a call", "no result", "another record", "what a module of ours imports"],
)
def test_what_is_no_result_is_not_recalled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes):
    """Whatever lies in the folder: nothing of it runs, and the part is analysed."""
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    part, task = made(tmp_path / "tree", a="import torch"), Task(RuleSelection())
    text = base64.b64encode(data).decode()
    kept = KeptParts()
    key = kept.key(part, task)
    answer_store.keep(key, answer_store.CheckOutput((text,), 0), _SHELF)
    assert answer_store.recall(key, _SHELF) is not None
    assert kept.recall(key) is None
    assert not (tmp_path / "harmed").exists()


@pytest.mark.usefixtures("large")
def test_a_file_that_cannot_be_analysed_is_told_from_its_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """With exit code 2, each time, also where the part is recalled."""
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "cache"))
    root = tmp_path / "tree"
    starts = "if __name__ == '__main__':\n    main(*make(:\n"
    made(root, a__train=TRAINS.format(step="step"), b__train=TRAINS.format(step="step") + starts)
    for text in ("", "# another program"):
        made(root, c__train=text)
        assert main(["check", str(root)]) == 2
        shown = capsys.readouterr()
        assert "b/train.py: line 12" in shown.err
        assert "a/train.py:9" in shown.out
        assert "nobody" not in shown.out


@pytest.mark.usefixtures("large")
def test_who_names_a_file_waits_for_its_part_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """Before a commit, in a tree of a thousand programs."""
    made(tmp_path, a__train=TRAINS.format(step="step"), b__train=TRAINS.format(step="step"))
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    asked: list[str] = []
    original = engine.together

    def watched(results: Sequence[AnalysisResult]) -> AnalysisResult:
        asked.extend(each.path for result in results for each in result.findings)
        return original(results)

    monkeypatch.setattr(engine, "together", watched)
    assert main(["check", "--no-cache", "--jobs", "1", "b/train.py"]) == 1
    shown = capsys.readouterr().out
    assert "b/train.py:9" in shown
    assert set(asked) == {"b/train.py"}
