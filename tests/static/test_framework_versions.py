"""What is said of a framework's arguments goes by the versions of it that the project allows."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from verifygate.base.errors import UsageError
from verifygate.commands import cli
from verifygate.config.settings import StaticSettings, load
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

OLD_LIGHTNING = "import pytorch_lightning as pl\ntrainer = pl.Trainer(precision=16, amp_backend='native')\n"
NEW_LIGHTNING = "import pytorch_lightning as pl\ntrainer = pl.Trainer(precision='16-mixed')\n"
TRUE_HALF = "import lightning as L\ntrainer = L.Trainer(precision='bf16-true')\n"
OLD_ACCELERATE = "from accelerate import Accelerator\naccelerator = Accelerator(fp16=True)\n"
OLD_TRANSFORMERS = (
    "from transformers import TrainingArguments\n"
    "arguments = TrainingArguments('out', fp16=True, half_precision_backend='auto')\n"
)
DIVIDED = """\
from transformers import Trainer, TrainingArguments


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss / self.args.gradient_accumulation_steps
        return (loss, outputs) if return_outputs else loss


Own(model=model, args=TrainingArguments("out", gradient_accumulation_steps=4), train_dataset=data).train()
"""


def found(text: str, versions: dict[str, str]) -> list[tuple[str, str]]:
    settings = StaticSettings().model_copy(update={"framework_versions": versions})
    outcome = analyse(Sources([SourceFile("train.py", text.encode())]), settings)
    return [(each.rule, each.certainty.value) for each in outcome.findings if each.rule.startswith("AMP6")]


@pytest.mark.parametrize(
    ("text", "package", "versions", "certainty"),
    [
        (OLD_LIGHTNING, "", "", "likely"),
        (OLD_LIGHTNING, "pytorch-lightning", "1.9.5", ""),
        (OLD_LIGHTNING, "pytorch-lightning", "<2.0", ""),
        (OLD_LIGHTNING, "pytorch-lightning", ">=1.8", "likely"),
        (OLD_LIGHTNING, "pytorch-lightning", ">=2.0", "certain"),
        (OLD_LIGHTNING, "transformers", "4.57", "likely"),
        (NEW_LIGHTNING, "", "", ""),
        (NEW_LIGHTNING, "pytorch-lightning", "1.9.5", "certain"),
        (NEW_LIGHTNING, "pytorch-lightning", ">=1.9", ""),
        (NEW_LIGHTNING, "pytorch-lightning", "2.0", ""),
        (TRUE_HALF, "lightning", ">=2.0,<2.1", "certain"),
        (TRUE_HALF, "lightning", "2.1", ""),
        (OLD_ACCELERATE, "", "", "likely"),
        (OLD_ACCELERATE, "accelerate", "0.15", ""),
        (OLD_ACCELERATE, "accelerate", "0.16", "certain"),
        (OLD_TRANSFORMERS, "", "", "likely"),
        (OLD_TRANSFORMERS, "transformers", "4.57.1", ""),
        (OLD_TRANSFORMERS, "transformers", ">=5", "certain"),
    ],
)
def test_an_argument_is_judged_by_the_version(text: str, package: str, versions: str, certainty: str) -> None:
    assert found(text, {package: versions}) == ([("AMP612", certainty)] if certainty else [])


@pytest.mark.parametrize(("versions", "certainty"), [("", "likely"), ("4.45.2", "certain"), (">=4.40", "likely")])
def test_a_trainer_that_leaves_the_division_to_models_makes_no_certain_finding(versions: str, certainty: str) -> None:
    assert found(DIVIDED, {"transformers": versions}) == [("AMP606", certainty)]


@pytest.mark.parametrize(
    ("pin", "setting", "expected"),
    [
        ("pytorch-lightning==1.9.5", "", "AMP612"),
        ("pytorch-lightning>=2.0", "", ""),
        ("pytorch-lightning>=2.0", 'framework_versions = {pytorch-lightning = "1.9"}', "AMP612"),
        ("pytorch-lightning==1.9.5", 'framework_versions = {pytorch-lightning = "2.1"}', ""),
    ],
)
def test_check_reads_the_pins_and_the_setting_comes_first(
    pin: str, setting: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(NEW_LIGHTNING, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text(pin + "\n", encoding="utf-8")
    if setting:
        (tmp_path / "verifygate.toml").write_text(f"[static]\n{setting}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(cli, ["check", "--select", "AMP612", "."], standalone_mode=False)
    assert ("AMP612" in told.output) == bool(expected), told.output


def test_a_changed_pin_is_a_new_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that was kept is one for the pins of then."""
    (tmp_path / "train.py").write_text(NEW_LIGHTNING, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    told = []
    for pin in ("2.0.0", "1.9.5", "2.0.0"):
        (tmp_path / "requirements.txt").write_text(f"pytorch-lightning=={pin}\n", encoding="utf-8")
        told.append("AMP612" in CliRunner().invoke(cli, ["check", "."], standalone_mode=False).output)
    assert told == [False, True, False]


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ('framework_versions = {pytorch-lightning = "two"}', "no version: write for example `2.1`"),
        ('framework_versions = {ligthning = "2.1"}', "`ligthning` is none of accelerate, "),
    ],
)
def test_a_setting_that_is_none_is_refused_with_its_line(setting: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "verifygate.toml").write_text(f"[static]\n{setting}\n", encoding="utf-8")
    with pytest.raises(UsageError) as told:
        load(tmp_path / "verifygate.toml", tmp_path)
    assert str(told.value).startswith(f"verifygate.toml:2: `static.framework_versions`: {problem}") or (
        str(told.value).startswith(f"{tmp_path}/verifygate.toml:2: `static.framework_versions`: {problem}")
    )
    assert told.value.exit_code == 2
