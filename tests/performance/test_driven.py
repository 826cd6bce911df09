"""A plain training function, or a script, as a workload: held after each of its own optimizer steps."""

from __future__ import annotations

import importlib.util
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import verifygate
from verifygate.config.performance import PerformanceSettings
from verifygate.model import StageResult
from verifygate.performance.comparison import Plan

Measure = Callable[..., StageResult]


class ComplaintError(Exception):
    pass


@pytest.fixture(scope="module")
def driven() -> Iterator[Any]:
    """The module, with something that runs its jobs as the main thread of an arm does."""
    path = Path(verifygate.__file__).parent / "instrument" / "bench" / "stepwise_training.py"
    spec = importlib.util.spec_from_file_location("driven_for_tests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            module.JOBS.get()()

    worker = threading.Thread(target=work)
    worker.start()
    yield module
    over.set()
    module.JOBS.put(lambda: None)
    worker.join()


class Training:
    """A loop as anybody writes it; what it has done so far is seen from outside."""

    def __init__(self, overflow_at: int = -1, enabled: bool = True, fused: bool = False) -> None:
        self.at, self.closed = 0, 0
        self.overflow_at, self.enabled, self.fused = overflow_at, enabled, fused

    def __call__(self, steps: int) -> list[float]:
        weight = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.AdamW([weight], lr=0.1, fused=self.fused)
        other = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0, enabled=self.enabled)
        try:
            for step in range(steps):
                loss = (weight * (float("inf") if step == self.overflow_at else 1.0)).sum()
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
                other.step()  # of another optimizer: no step of the training
                self.at = step + 1
        finally:
            self.closed += 1
        return [1.0, 0.0]


def test_a_training_goes_on_one_step_at_a_time(driven: Any) -> None:
    """Asked for a step it takes that one and no more; asked for its scores it goes on to the end."""
    training = Training()
    workload = driven.Driven(torch, training, 100, ComplaintError)
    workload.begin(5)
    for number in range(3):
        workload.step()
        assert training.at == number  # held inside its step, before what follows it
    assert workload.effective_steps == 3
    assert workload.evaluate() == [1.0, 0.0]
    assert training.at == 5
    assert workload.effective_steps == 5


@pytest.mark.parametrize(("enabled", "fused", "taken"), [(True, False, 4), (True, True, 4), (False, False, 5)])
def test_skipped_steps_do_not_count(driven: Any, enabled: bool, fused: bool, taken: int) -> None:
    """Of five steps the scaler skips the one with an inf, fused or not; a scaler that is off skips none."""
    workload = driven.Driven(torch, Training(2, enabled, fused), 100, ComplaintError)
    workload.begin(5)
    for _ in range(5):
        workload.step()
    assert workload.effective_steps == taken
    workload.close()


def test_a_training_that_nobody_needs_is_ended(driven: Any) -> None:
    """It unwinds, and what comes next begins anew."""
    training = Training()
    workload = driven.Driven(torch, training, 100, ComplaintError)
    workload.step()
    workload.close()
    assert (training.at, training.closed) == (0, 1)
    workload.step()
    workload.begin(1)
    assert training.closed == 2
    workload.close()


def test_a_training_that_ends_too_early_is_a_complaint(driven: Any) -> None:
    """Three steps were taken and a fourth is asked for; without any optimizer not even the first comes."""
    workload = driven.Driven(torch, lambda _steps: Training()(3), 100, ComplaintError)
    for _ in range(3):
        workload.step()
    with pytest.raises(ComplaintError, match="ended before"):
        workload.step()
    with pytest.raises(ComplaintError, match="ended before"):
        driven.Driven(torch, lambda _steps: None, 100, ComplaintError).step()


def test_what_a_training_raises_comes_out_of_the_step(driven: Any) -> None:
    """The project's own error, and the exit of a script."""

    def breaks(_steps: int) -> None:
        raise KeyError("loss")

    with pytest.raises(KeyError, match="loss"):
        driven.Driven(torch, breaks, 100, ComplaintError).step()


def test_scores_are_a_list_or_one_number_or_none(driven: Any) -> None:
    """As the function gives them back."""
    for given, wanted in ((None, []), (0.5, [0.5]), (torch.tensor([1.0, 0.0]), [1.0, 0.0])):
        workload = driven.Driven(torch, lambda _steps, given=given: given, 100, ComplaintError)
        workload.begin(1)
        assert workload.evaluate() == wanted


def test_a_script_is_told_what_to_train_and_writes_its_scores(
    driven: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs as the main program, beside its own modules, and its arguments are filled in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "near_the_script.py").write_text("SCORES = [1.0, 0.5]\n")
    (tmp_path / "here" / "train.py").write_text(
        "import json, sys\nfrom pathlib import Path\nfrom near_the_script import SCORES\n"
        "assert __name__ == '__main__'\nPath('told').write_text(json.dumps(sys.argv[1:-1]))\n"
        "Path(sys.argv[-1]).write_text(json.dumps(SCORES))\n"
    )
    command = "python here/train.py {precision} {seed} {steps} {device} {scores}"
    assert driven.of_command(command, "bf16", 7, "cpu")(20) == [1.0, 0.5]
    assert json.loads((tmp_path / "told").read_text()) == ["bf16", "7", "20", "cpu"]
    (tmp_path / "fails.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(SystemExit):
        driven.of_command("python fails.py", "bf16", 7, "cpu")(20)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"command": "train.py --p={precision} {seed} {steps}"}, "python script.py"),
        ({"command": "python -m"}, "python script.py"),
        ({"command": "python train.py {precision} {seed}"}, "`{steps}` is missing"),
        ({"command": "python train.py {precision} {seed} {steps} {epochs}"}, "unknown placeholder `{epochs}`"),
        ({"command": "python train.py '{precision} {seed} {steps}"}, "cannot be parsed"),
        ({"workload": "a:b", "function": "a:c"}, "only one workload can be measured"),
    ],
)
def test_settings_that_name_nothing_to_measure_are_refused(settings: dict[str, str], told: str) -> None:
    """In one line that says what to write."""
    with pytest.raises(ValueError, match=told.replace("{", r"\{").replace("}", r"\}")):
        PerformanceSettings.model_validate(settings)


@pytest.mark.parametrize(
    ("kind", "text", "module"),
    [
        ("build", "pkg.work:build", "pkg.work"),
        ("function", "train:train", "train"),
        ("command", "python tools/train.py {precision}", "tools.train"),
        ("command", "python -m pkg.train {precision}", "pkg.train"),
    ],
)
def test_the_module_that_it_begins_with(kind: str, text: str, module: str) -> None:
    """A record rests on what this module imports."""
    assert Plan(text, 2, 1, 3, (0,), 3, 6, kind=kind).module == module


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"function": "plain:train"}, {"command": "python plain.py {precision} {seed} {steps} {scores}"}],
    ids=["function", "command"],
)
def test_a_plain_training_is_measured(measure: Measure, tmp_path: Path, settings: dict[str, str]) -> None:
    """From the first order to the verdict, in real arms: every step counted, scores compared over the seeds."""
    shutil.copy(Path(__file__).parent / "real" / "plain.py", tmp_path)
    result = measure("", tmp_path, train_steps=20, targets={"accuracy_difference": 0.2}, **settings)
    found = {check.id.removeprefix("performance."): str(check.status) for check in result.checks}
    assert found["effective-steps"] == "PASS"
    assert found["accuracy"] == "PASS"
    assert found["same-data"] == "NOT MEASURED"
    assert next(m.value for m in result.measurements if m.id.startswith("effective-steps")) == 1.0
    assert any(m.metric == "speedup" and m.value for m in result.measurements)
