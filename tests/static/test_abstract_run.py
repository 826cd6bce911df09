"""The abstract run as a witness: what it adds, what it is merged with, what silences it, and what it did not run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from verifygate.base.failures import VARIABLE
from verifygate.base.records import replace
from verifygate.cli import main
from verifygate.config.model_files import ModelFile
from verifygate.config.rule_selection import RuleSelection
from verifygate.model import Finding
from verifygate.model.precision_contract import Aspect
from verifygate.rule_codes import ABSTRACT_RUN, READ_OFF_ABSTRACT_RUNS
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import analyse
from verifygate.static.machine.core import Limits
from verifygate.static.machine.programs import Run
from verifygate.static.readers import bounded_runs
from verifygate.static.readers.all_readers import READERS
from verifygate.static.readers.judgement import Violated

ASKED = RuleSelection(abstract_run=True)
FILTERED = """import torch

net = torch.nn.Linear(64, 64).bfloat16()
chosen = [weight for weight in net.parameters() if weight.requires_grad]
adam = torch.optim.AdamW(chosen, lr=1e-4)
for x in [torch.randn(8, 64).bfloat16()] * 20:
    adam.zero_grad()
    net(x).square().mean().backward()
    adam.step()
"""
BY_FABRIC = """import torch
from lightning.fabric import Fabric

fabric = Fabric(accelerator="cpu", precision="bf16-true")
net = torch.nn.Linear(64, 64)
net, adam = fabric.setup(net, torch.optim.AdamW(net.parameters(), lr=1e-4))
for x in [torch.randn(8, 64)] * 20:
    adam.zero_grad()
    fabric.backward(net(x).square().mean())
    adam.step()
"""
AVERAGE = """import copy

import torch


class Average:
    def __init__(self, net):
        self.net = copy.deepcopy(net).half()
        self.keep = 0.9999

    def update(self, net):
        for mine, new in zip(self.net.parameters(), net.parameters()):
            mine.mul_(self.keep).add_(new.to(mine.dtype), alpha=1 - self.keep)


net = torch.nn.Linear(64, 64)
average = Average(net)
for _ in range(10):
    average.update(net)
"""

OURS = """import copy

import torch

MODELS = ("our_trainer",)


class Trainer:
    def __init__(self, net, lean=True, kept=torch.float32):
        self.net = net.bfloat16() if lean else net
        self.adam = torch.optim.AdamW(self.net.parameters(), lr=1e-5)
        self.average = copy.deepcopy(self.net).to(kept)

    def step(self, loss):
        loss.backward()
        self.adam.step()
        self.adam.zero_grad()
        for mine, new in zip(self.average.parameters(), self.net.parameters()):
            mine.mul_(0.9999).add_(new, alpha=1 - 0.9999)
"""
BY_OURS = """import torch
from our_trainer import Trainer

net = torch.nn.Linear(64, 64)
trainer = Trainer(net)
for x in [torch.randn(8, 64)] * 20:
    trainer.step(net(x).square().mean())
"""


def analysed(texts: str | dict[str, str], selection: RuleSelection = ASKED) -> AnalysisResult:
    files = texts if isinstance(texts, dict) else {"train.py": texts}
    return analyse(Sources([SourceFile(path, text.encode()) for path, text in files.items()]), selection)


def told(found: Iterable[Finding]) -> list[tuple[str, str, int, str]]:
    return [(each.rule, each.path, each.line, each.certainty.value) for each in found]


def left_out(result: AnalysisResult) -> list[tuple[str, str]]:
    return [(each.path, each.reason) for each in result.not_followed if each.rule == ABSTRACT_RUN]


def test_the_table_of_rules_is_that_of_the_readers() -> None:
    assert READERS.keys() == READ_OFF_ABSTRACT_RUNS


def test_it_finds_what_the_rules_do_not_and_says_in_which_program() -> None:
    assert told(analysed(FILTERED, RuleSelection()).findings) == []
    result = analysed(FILTERED)
    assert told(result.findings) == [("AMP701", "train.py", 5, "certain")]
    (found,) = result.findings
    assert [(each.line, each.text.partition(":")[0]) for each in found.steps] == [
        (3, "the weights are made bfloat16"),
        (5, "the optimizer"),
    ]
    assert [each.values for each in found.details if each.label == "abstract run of"] == [("train.py",)]
    assert not left_out(result)
    assert not [each for each in result.not_followed if each.line == 5]  # a rule's question that the run has answered


def test_a_model_of_the_project_shows_what_its_trainer_does() -> None:
    """Also in a program that has no word of half precision, and where the trainer keeps the average."""
    ours = replace(ASKED, models=(ModelFile("ours.py", OURS),))
    assert told(analysed(BY_OURS, ours).findings) == [("AMP701", "train.py", 5, "certain")]
    assert told(analysed(BY_OURS).findings) == []
    assert told(analysed(BY_OURS.replace("(net)\n", "(net, False)\n"), ours).findings) == []
    averaged = BY_OURS.replace("(net)\n", "(net, False, torch.bfloat16)\n")
    assert told(analysed(averaged, ours).findings) == [("AMP702", "train.py", 7, "certain")]


def test_what_both_find_is_one_finding_known_as_before() -> None:
    (before,) = analysed(BY_FABRIC, RuleSelection(select=("AMP701",))).findings
    (after,) = analysed(BY_FABRIC, ASKED._replace(select=("AMP701",))).findings
    assert (before.certainty.value, after.certainty.value) == ("likely", "certain")
    assert (before.rule, before.fingerprint) == (after.rule, after.fingerprint)


@pytest.mark.parametrize(
    "selection",
    [
        ASKED._replace(ignore=("AMP701",)),
        ASKED._replace(select=("AMP2",)),
        ASKED._replace(per_file_ignores={"train.py": ("low-precision-weights",)}),
    ],
)
def test_what_switches_a_rule_off_switches_off_what_an_abstract_run_sees(selection: RuleSelection) -> None:
    assert not analysed(FILTERED, selection).findings


def test_a_comment_silences_it_and_is_not_unused_where_nobody_ran_anything() -> None:
    text = AVERAGE.replace("1 - self.keep)", "1 - self.keep)  # verifygate: ignore[AMP702] measured")
    assert told(analysed(AVERAGE).findings) == [("AMP702", "train.py", 13, "certain")]
    assert not analysed(text, RuleSelection()).findings
    result = analysed(text)
    assert not result.findings
    assert [(each.rule, each.line) for each in result.suppressions] == [("AMP702", 13)]
    idle = text.replace(".half()", "")
    assert [each.rule for each in analysed(idle).findings] == ["GATE102"]  # every program ran to its end
    assert not analysed(idle, RuleSelection()).findings


def test_tests_are_not_run() -> None:
    assert not analysed({"tests/test_train.py": FILTERED}).findings


def test_what_the_steps_do_not_reach_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_runs, "_LEAST", 5)
    monkeypatch.setattr(bounded_runs, "_BYTES_OF_A_STEP", 10**6)
    files = {f"{name}.py": f"{FILTERED}\nif __name__ == '__main__':\n    pass\n" for name in "abc"}
    ((path, reason),) = left_out(analysed(files))
    assert path == "a.py"
    assert reason.endswith("to its end, and 2 other entries: the 5 steps of all entries together are used up")


def test_no_program_takes_the_steps_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_runs, "_OF_ONE", Limits(steps=200))
    nested = "".join(f"{'    ' * depth}for _ in [1, 2, 3, 4, 5, 6, 7, 8]:\n" for depth in range(3))
    result = analysed({"a.py": f"half = 1\n{nested}            half += 1\n", "b.py": FILTERED})
    assert told(result.findings) == [("AMP701", "b.py", 5, "certain")]
    reason = "the abstract run of it did not come to its end: it takes more than the 200 steps of one entry"
    assert left_out(result) == [("a.py", reason)]


def test_a_fault_of_a_reader_costs_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(runs: Iterable[Run]) -> Iterator[Violated]:
        if any(run.outcome.entry.path == "a.py" for run in runs):
            raise KeyError("gone")
        yield from ()

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setitem(READERS, "AMP707", breaks)
    result = analysed({"a.py": FILTERED, "b.py": FILTERED.replace("net", "model")})
    assert told(result.findings) == [("AMP701", "b.py", 5, "certain")]
    ((path, reason),) = left_out(result)
    assert path == "a.py"
    assert "a reader broke: KeyError in test_abstract_run.py" in reason


def test_a_fault_of_the_machine_costs_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    from verifygate.static.machine.machine import Machine

    runs = Machine.run_module

    def breaks(machine: Machine, path: str) -> bool:
        if path == "a.py":
            raise ZeroDivisionError
        return runs(machine, path)

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(Machine, "run_module", breaks)
    result = analysed({"a.py": FILTERED, "b.py": FILTERED.replace("net", "model")})
    assert told(result.findings) == [("AMP701", "b.py", 5, "certain")]
    assert [path for path, _ in left_out(result)] == ["a.py"]


def test_the_row_of_weights_says_what_the_finding_says() -> None:
    before = analysed(FILTERED, RuleSelection()).contract.row(Aspect.WEIGHTS)
    after = analysed(FILTERED).contract.row(Aspect.WEIGHTS)
    assert before is not None
    assert after is not None
    assert not before.declared
    assert [(each.value, each.line) for each in after.declared] == [("bfloat16", 3)]
    assert not after.not_followed


def test_what_may_decide_it_is_said_where_both_are_likely() -> None:
    text = FILTERED.replace("import torch\n", "import os\n\nimport torch\n").replace(
        ".bfloat16()\nchosen = [weight for weight in net.parameters() if weight.requires_grad]",
        "\nif os.environ.get('LOW'):\n    net = net.bfloat16()\nchosen = net.parameters()",
    )
    (before,), (after,) = (analysed(text, each).findings for each in (RuleSelection(), ASKED))
    assert told([before]) == told([after]) == [("AMP701", "train.py", 9, "likely")]
    assert [each.values for each in after.details if each.label == "assumes"] == [("the environment's LOW",)]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one fault that only an abstract run shows."""
    (tmp_path / "train.py").write_text(FILTERED, encoding="utf-8")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_check_sees_it_when_asked_and_its_cache_knows_the_difference(repository: Path) -> None:
    asked = [["check"], ["check", "--abstract-run"], ["check"], ["check", "--abstract-run", "--fail-on", "critical"]]
    assert [main(each) for each in asked] == [0, 1, 0, 0]


def test_what_stood_at_the_base_is_known_of_an_abstract_run_there(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "train.py").write_text(f"import math\n{FILTERED}", encoding="utf-8")
    assert main(["check", "--abstract-run", "--since", "main"]) == 0
    assert "1 stood before" in capsys.readouterr().out
    (repository / "again.py").write_text(FILTERED.replace("net", "model"), encoding="utf-8")
    assert main(["check", "--abstract-run", "--since", "main"]) == 1


def test_run_sees_it_unless_the_configuration_says_otherwise(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["run", "--stage", "static"]
    off = "[static]\nabstract_run = false\n"
    assert main(run) == 1
    (repository / "verifygate.toml").write_text(off, encoding="utf-8")
    assert main(run) == 0
    (repository / "verifygate.toml").write_text("", encoding="utf-8")
    assert main([*run, "--since", "main"]) == 0  # the base is run as well
    assert "1 there before" in capsys.readouterr().out
