"""`verifygate probe` as a person meets it: what it prints, and the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from write_docs import DOCS

from verifygate.cli import main
from verifygate.execution.run_rules import RULES
from verifygate.model import Witness
from verifygate.static.registry import load_rules

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
LOOP = """
import sys
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=2)
for number in range(6):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model(torch.ones(2, 4)).float().pow(2).mean()
    scaler.scale(loss).backward()
    UNSCALE
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
print("trained", *sys.argv[1:])
"""
RIGHT = LOOP.replace("UNSCALE", "scaler.unscale_(optimizer)")
WRONG = LOOP.replace("UNSCALE", "pass")


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """A function that probes a script text and returns exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def run(text: str, *options: str, arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
        Path("train.py").write_text(text)
        code = main(["probe", *options, "--", sys.executable, "train.py", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_clean_run(probe):
    code, out, _ = probe(RIGHT)
    lines = dict(line.split("  ", 1) for line in out.splitlines() if "  " in line)
    assert code == 0, out
    assert out.endswith("\nclean\n")
    assert lines["loss scale"].strip() == "64 (step 0) -> 128 (step 2) -> 256 (step 4) -> 512 (step 6)"
    assert lines["steps"].strip() == "6, of which 0 skipped by the scaler"
    assert lines["autocast"].strip() == "cpu float16"
    assert lines["half precision"].strip().startswith("100.0% of the FLOPs, 8 of 8 matrix operations, in 4 steps")


def test_a_breach_has_its_line_and_its_events(probe):
    code, out, _ = probe(WRONG, "--format", "json", arguments=("--lr", "1"))
    report = json.loads(out)
    jsonschema.validate(report, json.loads((DOCS / "schemas" / "probe.schema.json").read_text()))
    assert (code, report["outcome"]) == (1, "violations")
    (finding,) = report["findings"]
    assert (finding["rule"], finding["path"], finding["line"]) == ("AMP201", "train.py", 13)
    assert (finding["certainty"], finding["witnesses"]) == ("certain", ["run"])
    assert finding["run"] == "seen in a run: event 8, step 1; 6 times in all"
    assert finding["steps"][-1]["text"].startswith("event 8, clip of 2 tensors: torch.nn.utils.clip_grad_norm_")


def test_a_checkpoint_belongs_to_the_step_before_it(probe):
    """Behind the last of 6 steps there is no seventh."""
    kept = LOOP.replace("UNSCALE", "scaler.unscale_(optimizer)") + "\ntorch.save(optimizer.state_dict(), 'o.pt')\n"
    _, out, _ = probe(kept, "--format", "json")
    (finding,) = json.loads(out)["findings"]
    assert (finding["rule"], finding["run"].rpartition(", ")[2]) == ("AMP302", "step 6")


@pytest.mark.slow
def test_a_loss_that_cuda_refuses(probe):
    """Only where CUDA is emulated does anything show: the CPU computes it."""
    text = LOOP.replace("UNSCALE", "pass").replace('"cpu"', '"cuda"')
    text = text.replace("torch.nn.Linear(4, 4)", "torch.nn.Linear(4, 4).cuda()").replace(
        "model(torch.ones(2, 4)).float().pow(2).mean()",
        "torch.nn.BCELoss()(model(torch.ones(2, 4).cuda()).sigmoid(), torch.ones(2, 4).cuda())",
    )
    code, out, _ = probe(text, "--emulate-cuda")
    assert code == 1, out
    assert "train.py:10: AMP404 unsafe-loss [high, certain]" in out


@pytest.mark.slow
@pytest.mark.parametrize(("options", "told"), [(("--capability", "7.5"), True), ((), False)])
def test_bfloat16_on_a_device_that_has_none(probe, options: tuple[str, ...], told: bool):
    """It runs there, as torch lets it, and the report says that it saves no time."""
    text = RIGHT.replace('"cpu"', '"cuda"').replace("float16", "bfloat16").replace("init_scale=64.0", "enabled=False")
    text = text.replace("torch.nn.Linear(4, 4)", "torch.nn.Linear(4, 4).cuda()").replace("(2, 4)", "(2, 4).cuda()")
    code, out, _ = probe(text, "--emulate-cuda", *options)
    assert code == 0, out
    assert ("note: bfloat16 ran on a CUDA device that has none of its own" in out) is told


@pytest.mark.parametrize("options", [("--capability", "7.5"), ("--emulate-cuda", "--capability", "old")])
def test_a_capability_belongs_to_an_emulated_device(probe, options: tuple[str, ...]):
    code, _, error = probe(RIGHT, *options)
    assert code == 2
    assert "--capability goes with --emulate-cuda, and is two numbers: 7.5" in error


def test_the_two_spellings_are_one(probe):
    """The old interface on the CPU: the same events, and the same violation."""
    old = WRONG.replace('torch.autocast("cpu", dtype', "torch.cpu.amp.autocast(dtype").replace(
        'torch.amp.GradScaler("cpu", ', "torch.cpu.amp.GradScaler("
    )
    code, out, _ = probe(old)
    assert code == 1
    assert "train.py:13: AMP201 clip-before-unscale [critical, certain]" in out


def test_a_script_that_fails(probe):
    code, out, _ = probe(RIGHT + "raise ValueError('no more data')\n")
    assert code == 2
    assert out.splitlines()[-1] == "failed: the script failed: exit code 1, ValueError: no more data at train.py:17"


def test_a_breach_outweighs_a_failure(probe):
    code, out, _ = probe(WRONG + "raise SystemExit(5)\n")
    assert code == 1
    assert out.splitlines()[-1] == "1 violation: the script failed: exit code 5"


ELSEWHERE = "a training in a process that is forked, or has another environment, is not seen"
EVALUATION = """
import torch
model = torch.nn.Linear(8, 4)
with torch.no_grad():
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.float16):
            model(torch.ones(4, 8))
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("print('no torch')", "the script never imported torch in its own process"),
        (
            RIGHT.replace("init_scale=64.0", "init_scale=2.0**120"),
            "the scaler skipped all of 6 steps: nothing was trained",
        ),
        (
            "import torch",
            f"no training step: no optimizer, no backward and no autocast region was recorded; {ELSEWHERE}",
        ),
        (
            EVALUATION,
            (
                "no training step: an evaluation; losses and constants of 3 autocast regions were looked at, and where "
                f"`--numerics` asks, every number; {ELSEWHERE}"
            ),
        ),
        (
            f"{EVALUATION}torch.optim.SGD(model.parameters())",
            (
                "no backward and no step was recorded after 3 autocast regions: the script's own code left them out, "
                "as where it asks for a finite loss first"
            ),
        ),
        (
            "import torch\np = torch.ones(1, requires_grad=True)\no = torch.optim.SGD([p])\np.backward()\no.step()",
            "neither autocast nor a live scaler was in use in 1 step",
        ),
    ],
)
def test_nothing_to_judge_is_never_clean(probe, text: str, reason: str):
    code, out, _ = probe(text)
    assert code == 2
    assert out.splitlines()[-1] == f"NOT MEASURED: {reason}"


def test_a_run_that_is_stopped(probe, tmp_path: Path, time_is_up_with: Callable[[Path], None]):
    time_is_up_with(tmp_path / "trained")
    endless = RIGHT.replace("range(6)", "iter(int, 1)").replace(".update()", '.update(), open("trained", "w").close()')
    code, out, _ = probe(endless, "--seconds", "600")
    assert code == 0, out
    assert "clean: stopped at its time limit of 600 s; judged is what was recorded until then" in out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "there is no command"),
        (("no-such-interpreter", "train.py"), "`no-such-interpreter` is no Python interpreter that can be found"),
        ((sys.executable,), "no script is named"),
        ((sys.executable, "-c", "1"), "`-c` cannot be probed"),
        ((sys.executable, "none.py"), "none.py: no such script"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], problem: str):
    assert main(["probe", "--", *words]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


def test_the_rules_of_a_run_are_those_of_the_catalogue():
    """Name and severity are given twice, because the stages import nothing of each other; they must not differ."""
    catalogue = {code: loaded.rule for code, loaded in load_rules().items()}
    assert RULES
    for code, rule in RULES.items():
        assert (code.rule_name, rule.severity) == (catalogue[code].name, catalogue[code].severity), code
        assert Witness.RUN in catalogue[code].witnesses, code


@pytest.mark.slow
def test_the_reference_is_clean(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The program that the gate audits first, in float16 on the CPU."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    settings = {"precision": "fp16", "device": "cpu", "steps": 6, "train_items": 1280, "eval_items": 64}
    options = [f"--{name}={value}" for name, value in (settings | {"out_dir": tmp_path / "out"}).items()]
    command = [sys.executable, "-m", "reference_impl.train", "reference_impl/configs/tiny_cpu.toml", *options]
    code = main(["probe", "--format", "json", "--", *command])
    report = json.loads(capsys.readouterr().out)
    assert (code, report["outcome"], report["findings"]) == (0, "clean", []), report["reason"]
    trace = report["trace"]
    assert trace["steps"] - trace["skipped"] == 6
    assert trace["low_precision"]["low_operations"] == trace["low_precision"]["operations"] > 0


def test_the_output_is_shown_while_it_runs(probe):
    """On stderr, each line behind a bar, so that no CI service takes it for a command; the report stays alone."""
    text = RIGHT + 'print("::error::\\x1b[31mno command")\nsys.stderr.write("half")\n'
    code, out, err = probe(text, "--show-output", "--format", "json")
    assert code == 0
    assert json.loads(out)["outcome"] == "clean"
    assert {"| trained", "| ::error::no command", "| half"} <= set(err.splitlines())
    assert "trained" not in probe(text)[2]


COMPILED = """
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
class Bounded(torch.nn.Module):
    def forward(self, x):
        return model(x).clamp(-5, 5)
forward = model
for step in range(4):
    if step == BEGIN: forward = HOW
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = forward(torch.randn(3, 4)).float().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.slow
@pytest.mark.parametrize("begin", ["0", "2"])
@pytest.mark.parametrize(
    "how",
    [
        "torch.compile(model, backend='eager', fullgraph=True)",
        "torch.compile(lambda x: model(x).clamp(-5, 5), backend='eager', fullgraph=True)",
        "Bounded(); forward.compile(backend='eager', fullgraph=True)",
    ],
)
def test_what_is_compiled_as_a_whole_is_so_under_the_recorder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], how: str, begin: str
) -> None:
    """torch refuses to compile under a dispatch mode, as samples and the watch over numbers are; then these raise."""
    (tmp_path / "train.py").write_text(COMPILED.replace("HOW", how).replace("BEGIN", begin), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--numerics", "--format", "json", "--", sys.executable, "train.py")) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["outcome"], report["trace"]["steps"]) == ("clean", 4)
    assert "torch.compile is in use" in report["numerics"]["not_watched"]
