"""`verifygate sweep`: a row for each unit, whatever happens to it, and the same answers without the work."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

import pytest

from verifygate import __version__
from verifygate.base.errors import UsageError
from verifygate.cli import main
from verifygate.model.finding import Certainty, Severity
from verifygate.model.sweep_report import Answer, Row, SweptFinding
from verifygate.report.sweep import SweepPage, html, markdown
from verifygate.sweep import answering
from verifygate.sweep.reports import against, exit_code, merged, report_of
from verifygate.sweep.schedule import answer_all, share
from verifygate.sweep.units import Unit, read_list

CLEAN = "import torch\n\n\ndef half(x):\n    with torch.autocast('cuda', dtype=torch.bfloat16):\n        return x @ x\n"
BAD = """import torch


def train(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).sum()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
LESS_HARMFUL = """import torch


def half(x):
    with torch.cuda.amp.autocast(dtype=torch.bfloat16):
        return x @ x
"""
LESS_CERTAIN = """import lightning
import torch


class Limit(lightning.Callback):
    def on_before_zero_grad(self, trainer, pl_module, optimizer):
        torch.nn.utils.clip_grad_norm_(pl_module.parameters(), 1.0)


def main(module, data):
    lightning.Trainer(precision="16-mixed", callbacks=[Limit()]).fit(module, data)
"""


def folder(root: Path, name: str, text: str) -> Path:
    (root / name).mkdir(parents=True)
    (root / name / "train.py").write_text(text, encoding="utf-8")
    return root / name


def git(place: Path, *words: str) -> None:
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(["git", "-C", str(place), *words], check=True, capture_output=True, env=os.environ | names)


def row_of(unit: Unit) -> Row:
    return Row.model_validate(json.loads(answering.answer(unit))["row"])


def is_kept(unit: Unit) -> bool:
    return bool(json.loads(answering.answer(unit))["kept"])


def a_row(name: str, seconds: float = 1.0, reply: Answer = Answer.PASS) -> Row:
    return Row(name=name, answer=reply, key="k", seconds=seconds)


# --- the list


def test_lines_name_a_folder_a_commit_and_rules(tmp_path: Path):
    (tmp_path / "list").write_text("# ours\n\na\nb@v1.2\nc@v1 #AMP2,KEY101\n", encoding="utf-8")
    units = read_list(tmp_path / "list", "list")
    assert [(Path(each.path).name, each.commit, each.rules) for each in units] == [
        ("a", "", ()),
        ("b", "v1.2", ()),
        ("c", "v1", ("AMP2", "KEY101")),
    ]
    assert Path(units[0].path) == tmp_path / "a"


def test_toml_says_the_same_of_paths_with_odd_signs(tmp_path: Path):
    (tmp_path / "l.toml").write_text('[[unit]]\npath = "a@b#c"\ncommit = "v1"\nrules = ["AMP2"]\n', encoding="utf-8")
    (unit,) = read_list(tmp_path / "l.toml", "l.toml")
    assert (Path(unit.path).name, unit.commit, unit.rules) == ("a@b#c", "v1", ("AMP2",))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\na\n", "list:2: the unit `a` stands in the list twice"),
        ("a\nb#AMP9999\n", "list:2: "),
        ("# nothing\n", "the list has no unit"),
        ("@v1\n", "list:1: no path"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(tmp_path: Path, text: str, told: str):
    (tmp_path / "list").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=told):
        read_list(tmp_path / "list", "list")


# --- a unit


def test_a_fault_blocks_its_unit_and_the_second_time_nothing_is_analysed(tmp_path: Path, monkeypatch):
    unit = Unit("bad", str(folder(tmp_path, "bad", BAD)))
    first = row_of(unit)
    assert first.answer is Answer.BLOCK
    assert "AMP201" in {each.rule for each in first.findings}
    monkeypatch.setattr(answering.subprocess, "Popen", None)  # an analysis would need it
    assert row_of(unit) == first


@pytest.mark.parametrize(
    ("text", "grade", "answer"),
    [
        (BAD, ("critical", "certain"), Answer.BLOCK),
        (LESS_CERTAIN, ("high", "likely"), Answer.PASS),
        (LESS_HARMFUL, ("low", "certain"), Answer.PASS),
    ],
    ids=["certain and critical", "likely", "low"],
)
def test_a_unit_is_blocked_where_the_gate_would_block_it(
    tmp_path: Path, monkeypatch, text: str, grade: tuple[str, str], answer: Answer
):
    place = folder(tmp_path, "u", text)
    row = row_of(Unit("u", str(place)))
    assert grade in {(each.severity.value, each.certainty.value) for each in row.faults}
    assert row.answer is answer
    monkeypatch.chdir(place)
    assert main(["run", "--stage", "static"]) == exit_code(report_of(["u"], [row]))


def test_the_worst_unit_is_the_one_with_the_worst_fault_that_blocks():
    def row(name: str, **faults: int) -> Row:
        """`critical=2` are two that block, `other_high=1` is one that does not."""
        found = []
        for kind, count in faults.items():
            blocks, severity = not kind.startswith("other_"), Severity(kind.removeprefix("other_"))
            fault = SweptFinding(
                rule="AMP201",
                severity=severity,
                certainty=Certainty.CERTAIN if blocks else Certainty.LIKELY,
                path="a.py",
                line=1,
                message=kind,
                fingerprints=(f"{name}-{kind}",),
                blocks=blocks,
            )
            found += [fault] * count
        reply = Answer.BLOCK if any(each.blocks for each in found) else Answer.PASS
        return a_row(name, reply=reply).model_copy(update={"findings": tuple(found)})

    worst_first = [
        row("a", critical=1),
        row("b", high=3, other_critical=9),
        row("c", high=3, other_high=9),
        row("d", high=2, other_low=99),
        row("unknown", other_critical=1).model_copy(update={"answer": Answer.UNKNOWN}),
        row("e", other_critical=1),
        row("f", other_low=50),
        row("g"),
    ]
    names = [each.name for each in worst_first]
    page = SweepPage(report_of(names[::-1], worst_first[::-1]))
    assert [each.name for each in page.worst_first] == names
    assert "| `b` | BLOCK | 3 high | 9 | 0 | 0 | 0 | 0 | 0 |" in markdown(page.report)
    assert [each.severity for each in page.shown(worst_first[1])] == [Severity.HIGH] * 3 + [Severity.CRITICAL] * 2
    (rule,) = page.rules
    assert (rule.blocked, rule.units, rule.faults) == (4, 7, 178)


def test_a_change_of_a_file_or_of_the_rules_is_another_question(tmp_path: Path):
    place = folder(tmp_path, "a", CLEAN)
    unit = Unit("a", str(place))
    assert not is_kept(unit)
    assert is_kept(unit)
    assert not is_kept(unit._replace(rules=("AMP2",)))
    (place / "train.py").write_text(BAD, encoding="utf-8")
    assert row_of(unit).answer is Answer.BLOCK


def test_a_commit_is_read_from_git_whatever_lies_in_the_folder(tmp_path: Path):
    place = folder(tmp_path, "r", BAD)
    git(place, "init", "-q")
    git(place, "add", ".")
    git(place, "commit", "-qm", "one")
    (place / "train.py").write_text(CLEAN, encoding="utf-8")
    now, then = row_of(Unit("r", str(place))), row_of(Unit("r@HEAD", str(place), "HEAD"))
    assert (now.answer, then.answer) == (Answer.PASS, Answer.BLOCK)
    assert len(then.commit) == 40
    (place / "train.py").write_text(BAD, encoding="utf-8")
    assert row_of(Unit("r", str(place))).findings == then.findings


@pytest.mark.parametrize(
    ("path", "commit", "told"),
    [("gone", "", "no such folder"), (".", "v9", "no git repository"), ("empty", "", "holds no Python file")],
)
def test_what_cannot_be_read_is_a_row_with_its_reason(tmp_path: Path, path: str, commit: str, told: str):
    (tmp_path / "empty").mkdir()
    row = row_of(Unit("u", str(tmp_path / path), commit))
    assert row.answer is Answer.UNKNOWN
    assert told in row.reason


def test_broken_amp_code_is_not_a_pass(tmp_path: Path):
    row = row_of(Unit("u", str(folder(tmp_path, "u", "import torch\ntorch.autocast('cuda'\n"))))
    assert (row.answer, exit_code(report_of(["u"], [row]))) == (Answer.UNKNOWN, 2)
    assert row.not_analysed[0].startswith("train.py: ")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import time; time.sleep(60)", "longer than 0.5 s"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("import sys; sys.exit('boom')", "exit status 1: boom"),
    ],
)
def test_an_analysis_that_hangs_or_dies_costs_its_own_row(tmp_path: Path, monkeypatch, code: str, told: str):
    start = subprocess.Popen

    def other(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        return start([command[0], "-c", code], **options)

    monkeypatch.setattr(answering.subprocess, "Popen", other)
    row = row_of(Unit("u", str(folder(tmp_path, "u", CLEAN)), seconds=0.5 if "sleep" in code else 60))
    assert row.answer is Answer.UNKNOWN
    assert told in row.reason


# --- the executor


class Dying(Executor):
    """Answers some calls, and then its workers die."""

    def __init__(self, calls: list[str], lives: int) -> None:
        self.calls, self.lives = calls, lives

    def submit(self, _fn: Callable[..., str], /, *arguments: Unit) -> Future[str]:
        future: Future[str] = Future()
        if self.lives:
            self.lives -= 1
            self.calls.append(arguments[0].name)
            row = a_row(arguments[0].name).model_dump(mode="json")
            future.set_result(json.dumps({"version": __version__, "kept": False, "row": row}))
        else:
            future.set_exception(BrokenProcessPool("a worker died"))
        return future


def rows_of(units: list[Unit], lives: int) -> tuple[tuple[Row, ...], list[str]]:
    calls: list[str] = []

    @contextmanager
    def made():
        yield Dying(calls, lives)

    return answer_all(units, made, {}, lambda *_: None), calls


def test_what_a_dead_worker_leaves_is_answered_by_the_next_and_once():
    units = [Unit(f"u{number}", "/") for number in range(7)]
    rows, calls = rows_of(units, lives=3)
    assert [row.name for row in rows] == [unit.name for unit in units]
    assert sorted(calls) == sorted(unit.name for unit in units)
    assert {row.answer for row in rows} == {Answer.PASS}


def test_where_no_worker_lives_each_unit_still_has_a_row():
    rows, _ = rows_of([Unit("a", "/"), Unit("b", "/")], lives=0)
    assert [(row.name, row.answer) for row in rows] == [("a", Answer.UNKNOWN), ("b", Answer.UNKNOWN)]
    assert "a worker died" in rows[0].reason


# --- shards, merging, trends


def test_shards_are_of_about_one_cost_and_together_the_list():
    units = [Unit(f"u{number}", "/") for number in range(9)]
    costs = {f"u{number}": float(number + 1) for number in range(9)}
    parts = [share(units, number, 3, costs) for number in (1, 2, 3)]
    assert sorted(unit.name for part in parts for unit in part) == sorted(unit.name for unit in units)
    assert sorted(sum(costs[unit.name] for unit in part) for part in parts) == [14, 15, 16]


def test_merged_shards_are_the_list_and_what_is_missing_has_a_row():
    parts = [("1.json", report_of(["a", "b", "c"], [a_row("c")], "1/3"))]
    parts += [("2.json", report_of(["a", "b", "c"], [a_row("a")], "2/3"))]
    report = merged(parts)
    assert [(row.name, row.answer.value) for row in report.rows] == [("a", "PASS"), ("b", "UNKNOWN"), ("c", "PASS")]
    assert exit_code(report) == 2
    with pytest.raises(UsageError, match="`a` stands in"):
        merged([*parts, parts[1]])
    with pytest.raises(UsageError, match="another list"):
        merged([*parts, ("x.json", report_of(["z"], [a_row("z")]))])


def test_trends_count_what_is_new_and_gone(tmp_path: Path):
    bad = row_of(Unit("u", str(folder(tmp_path, "u", BAD))))
    good = a_row("u")
    worse = against(report_of(["u"], [bad]), report_of(["u", "old"], [good, a_row("old")]))
    assert worse.trend is not None
    (change,) = worse.trend.changes
    assert (change.before, change.new, change.gone, worse.trend.left) == (Answer.PASS, len(bad.faults), 0, ("old",))
    better = against(report_of(["u"], [good]), report_of(["u"], [bad]))
    assert better.trend is not None
    assert (better.trend.changes[0].new, better.trend.changes[0].gone) == (0, len(bad.faults))


def test_names_are_inert_in_every_format():
    name = "a|b`</code><script>alert(1)</script> @octocat [x](javascript:y)\n# PASS"
    report = report_of([name], [Row(name=name, answer=Answer.UNKNOWN, reason=f"<img src=x onerror=y> {name}")])
    for text in (markdown(report), html(report)):
        assert "<script" not in text
        assert "<img" not in text
        assert "\n# PASS" not in text
    assert 'href="javascript' not in html(report)


# --- the command


def test_the_command_writes_one_report_and_its_exit_code_says_the_worst(tmp_path: Path, capsys):
    folder(tmp_path, "good", CLEAN)
    folder(tmp_path, "bad", BAD)
    (tmp_path / "list").write_text("good\nbad\n", encoding="utf-8")
    out = tmp_path / "out"
    assert main(["sweep", str(tmp_path / "list"), "--workers", "1", "--out", str(out)]) == 1
    assert "# Sweep: 1 BLOCK, 0 UNKNOWN, 1 PASS" in capsys.readouterr().out
    assert sorted(file.name for file in out.iterdir()) == ["sweep.html", "sweep.json", "sweep.md"]
    first = (out / "sweep.json").read_bytes()
    assert main(["sweep", str(tmp_path / "list"), "--workers", "1", "--out", str(out)]) == 1
    assert "2 of them answered before" in capsys.readouterr().err
    assert (out / "sweep.json").read_bytes() == first
    assert main(["sweep", "merge", str(out / "sweep.json")]) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["no-list"], "no-list: cannot be read"),
        (["merge"], "needs the sweep.json"),
        (["merge", "x", "--shard", "1/2"], "--shard has no meaning"),
        (["a", "b"], "`b` is a second one"),
        (["{list}", "--shard", "x"], "`x` is no part"),
        (["{list}", "--shard", "3/2"], "no part 3 of 2"),
        (["merge", "{list}"], "no report of a sweep"),
        (["{list}", "--dask", "tcp://127.0.0.1:1", "--workers", "2"], "--workers is for this machine"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path: Path, capsys, words: list[str], told: str):
    (tmp_path / "list").write_text("a\n", encoding="utf-8")
    assert main(["sweep", *(word.format(list=tmp_path / "list") for word in words)]) == 2
    assert told in capsys.readouterr().err
