"""A precision contract that the specification writes down: agreed, contradicted, not shown, refused."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from requirement_world import World

from verifygate.base.errors import UsageError
from verifygate.config.settings import StaticSettings, load
from verifygate.gate.run import RunOptions, run
from verifygate.model import Check, EvidenceClass, OwnEvents, RequirementsDetails, Status, StepOrder, TraceSummary
from verifygate.model.precision_contract import PrecisionContract
from verifygate.report import html
from verifygate.report.markdown import render
from verifygate.requirements import read_specification
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse

LOOP = """\
import torch

def fit(net, rows, half):
    adam = torch.optim.Adam(net.parameters())
    for row in rows:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            error = net(row).mean()
        error.backward()
        adam.step()
"""
SHARDED = """\
import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

def fit(net, rows):
    fully_shard(net, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    adam = torch.optim.Adam(net.parameters())
    for row in rows:
        net(row).mean().backward()
        adam.step()
"""
ORDER = StepOrder(events=("backward", "optimizer-step"), times=2, path="train.py", line=9)


def contract_of(folder: Path, text: str) -> PrecisionContract:
    (folder / "train.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return analyse(read_sources(folder, ["."]), StaticSettings()).contract


def spec_of(folder: Path, rows: str) -> Path:
    path = folder / "spec.yaml"
    path.write_text("title: T\nprecision:\n" + textwrap.indent(textwrap.dedent(rows), "  "), encoding="utf-8")
    return path


def seen(*, steps: int = 2, **own: object) -> TraceSummary:
    counts = (("optimizer", 1), ("optimizer.step", steps))
    events = OwnEvents.model_validate({"counts": counts, "orders": (ORDER,)} | own)
    return TraceSummary(events=9, steps=steps, own=events)


def answer(world: World, folder: Path, rows: str, text: str = LOOP) -> dict[str, Check]:
    world.static["contract"] = contract_of(folder, text)
    traced = world.trace(spec_of(folder, rows))
    return {name.removeprefix("precision."): check for name, check in traced.checks.items() if "precision." in name}


def places(check: Check) -> list[tuple[str | None, int | None]]:
    return [(each.path, each.line) for each in check.evidence]


def test_what_the_source_declares_agrees(world: World, tmp_path: Path) -> None:
    found = answer(
        world,
        tmp_path,
        """
        driver: [own code, FSDP]
        compute: bfloat16
        reduction: float32
        loss scale: none
        """,
        SHARDED,
    )
    assert list(found) == ["driver", "compute", "reduction", "loss-scale"]
    assert {(check.status, check.required) for check in found.values()} == {(Status.PASS, True)}
    assert found["reduction"].actual == "declared float32 at train.py:5"
    assert places(found["reduction"]) == [("train.py", 5), ("spec.yaml", 6)]


def test_a_source_that_declares_another_value_is_a_conflict_with_both_lines(world: World, tmp_path: Path) -> None:
    found = answer(world, tmp_path, "compute: bfloat16\nreduction: bfloat16\ndriver: own code\n", SHARDED)
    assert found["reduction"].status is Status.FAIL
    assert found["reduction"].required
    assert found["reduction"].actual == "spec.yaml:4 asks for bfloat16: declared float32 at train.py:5"
    assert places(found["reduction"]) == [("train.py", 5), ("spec.yaml", 4)]
    assert found["driver"].actual.startswith("spec.yaml:5 asks for own code: declared FSDP mixed precision policy at")
    assert found["compute"].status is Status.PASS


def test_a_value_under_a_condition_that_differs_is_a_conflict_and_one_that_agrees_is_a_part(
    world: World, tmp_path: Path
) -> None:
    text = LOOP.replace("dtype=torch.bfloat16", "dtype=torch.float16, enabled=half")
    check = answer(world, tmp_path, "compute: bfloat16\n", text)["compute"]
    assert check.actual == "spec.yaml:3 asks for bfloat16: declared float16, where `half` at train.py:6"
    assert check.status is Status.FAIL
    assert answer(world, tmp_path, "compute: float16\n", text)["compute"].status is Status.PARTIAL
    assert answer(world, tmp_path, "compute: [float16, float32]\n", text)["compute"].status is Status.PARTIAL


def test_a_run_shows_what_nothing_declares(world: World, tmp_path: Path) -> None:
    world.run = seen(regions=("cpu bfloat16",))
    found = answer(world, tmp_path, "weights: float32\ngradients: float32\n")
    assert [check.status for check in found.values()] == [Status.PASS, Status.PASS]
    assert {each.kind for each in found["weights"].evidence} == {EvidenceClass.EXECUTED, EvidenceClass.DECLARED}
    assert found["weights"].actual == "float32 seen in the recorded tests at train.py:9"


@pytest.mark.parametrize(
    ("row", "own", "actual"),
    [
        ("weights: float32", {"not_float32": ("Adam: 4 of 4 tensors bfloat16",)}, "bfloat16 seen"),
        ("weights: bfloat16", {"not_float32": ("Adam: 2 of 4 tensors bfloat16",)}, "float32 seen"),
        ("compute: bfloat16", {"regions": ("cuda float16",)}, "float16 seen"),
        ("compute: bfloat16", {"regions": ("cpu float16",)}, "float16 seen"),
        ("loss scale: none", {"counts": (("scale", 2), ("scaler.step", 2))}, "dynamic seen"),
    ],
)
def test_a_run_that_shows_another_value_is_a_conflict(
    world: World, tmp_path: Path, row: str, own: dict[str, object], actual: str
) -> None:
    world.emulated_run = seen(**own)
    (check,) = answer(world, tmp_path, row + "\n").values()
    assert check.status is Status.FAIL
    where = "in the tests with CUDA emulated at train.py:9"
    assert check.actual == f"spec.yaml:3 asks for {row.partition(': ')[2]}: {actual} {where}"
    assert ("spec.yaml", 3) in places(check)


def test_a_run_on_a_cpu_contradicts_nothing_that_only_a_gpu_does(world: World, tmp_path: Path) -> None:
    """There a framework takes bfloat16 in place of float16, and scripts leave casts and scalers away."""
    world.run = seen(regions=("cpu bfloat16",))
    text = LOOP.replace("bfloat16", "float16")
    found = answer(world, tmp_path, "compute: float16\nweights: bfloat16\n", text)
    assert [check.status for check in found.values()] == [Status.PASS, Status.NOT_MEASURED]


def test_a_loss_scale_that_nothing_makes_is_a_conflict(world: World, tmp_path: Path) -> None:
    found = answer(world, tmp_path, "loss scale: dynamic\n", LOOP.replace("bfloat16", "float16"))
    assert found["loss-scale"].actual == ("spec.yaml:3 asks for dynamic: no scaler beside float16 at train.py:6")


def test_what_is_neither_declared_nor_seen_is_not_shown(world: World, tmp_path: Path) -> None:
    found = answer(world, tmp_path, "weights: float32\noptimizer state: 8 bits\ncheckpoint: scaler state\n")
    assert {(check.status, check.required) for check in found.values()} == {(Status.NOT_MEASURED, True)}
    assert {check.actual for check in found.values()} == {"nothing declares it, and no run showed it"}
    assert places(found["weights"]) == [("spec.yaml", 3)]


def test_a_precision_that_is_not_followed_is_not_shown_and_the_place_is_named(world: World, tmp_path: Path) -> None:
    text = """\
        import torch
        from accelerate import Accelerator

        def fit(net, rows):
            accelerator = Accelerator()
            adam = torch.optim.Adam(net.parameters())
            net, adam = accelerator.prepare(net, adam)
            for row in rows:
                accelerator.backward(net(row).mean())
                adam.step()
        """
    found = answer(world, tmp_path, "compute: bfloat16\nloss scale: none\ndriver: Accelerate\n", text)
    assert {name: check.status for name, check in found.items()} == {
        "compute": Status.NOT_MEASURED,
        "loss-scale": Status.NOT_MEASURED,
        "driver": Status.PASS,
    }
    assert "at train.py:5" in found["compute"].actual
    assert "accelerate launch" in found["compute"].actual


def test_without_the_static_stage_nothing_is_shown(world: World, tmp_path: Path) -> None:
    world.missing["static"] = None
    check = answer(world, tmp_path, "compute: bfloat16\n")["compute"]
    assert check.status is Status.NOT_MEASURED
    assert "the static stage did not run" in check.actual


@pytest.mark.parametrize(
    ("rows", "where", "remedy"),
    [
        ("wieghts: float32", "spec.yaml:3: `precision` has no row `wieghts`", "did you mean `weights`?"),
        ("colour: float32", "spec.yaml:3: `precision` has no row `colour`", "write one of driver, loss scale, "),
        ("weights: float32\ncompute: bf16", "spec.yaml:4: the row `compute` is `bf16`", "did you mean `bfloat16`?"),
        ("compute: torch.half", "spec.yaml:3: the row `compute` is `torch.half`", "did you mean `float16`?"),
        ("compute: int4", "spec.yaml:3: the row `compute` is `int4`", "write one of float64, float32, "),
        ("compute: [float16, true]", "spec.yaml:3: the row `compute` is `True`", "write one of float64, "),
        ("compute:", "spec.yaml:3: the row `compute` is nothing", "write one of float64, "),
        ("compute: []", "spec.yaml:3: the row `compute` says nothing", "write one of float64, "),
        ("loss scale: 65536", "spec.yaml:3: the row `loss scale` is `65536`", "none, dynamic, static"),
        ("driver: lightning", "spec.yaml:3: the row `driver` is `lightning`", "did you mean `Lightning`?"),
        ("loss scale: none\nloss_scale: none", "spec.yaml:4: `precision` has the row `loss scale` twice", "keep one"),
    ],
)
def test_a_row_that_cannot_be_meant_is_refused_with_its_line(
    tmp_path: Path, rows: str, where: str, remedy: str
) -> None:
    path = spec_of(tmp_path, rows + "\n")
    with pytest.raises(UsageError) as caught:
        read_specification(path.parent, path.name)
    assert caught.value.exit_code == 2
    assert str(caught.value).startswith(where)
    assert remedy in str(caught.value.remedy)
    assert "\n" not in str(caught.value)


def test_toml_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text('title = "T"\n[precision]\nloss_scale = "none"\ncompute = ["float16", "bfloat16"]\n')
    found = read_specification(tmp_path, "spec.toml")
    assert {aspect.value: words for aspect, words in found.spec.precision.items()} == {
        "loss scale": ("none",),
        "compute": ("float16", "bfloat16"),
    }
    assert list(found.precision_lines.values()) == [3, 4]


@pytest.mark.parametrize("compute", ["bfloat16", "float16"])
def test_the_gate_blocks_on_a_conflict_and_its_report_shows_the_rows(tmp_path: Path, compute: str) -> None:
    (tmp_path / "train.py").write_text(LOOP, encoding="utf-8")
    spec_of(tmp_path, f"compute: {compute}\ndriver: own code\n")
    config = tmp_path / "verifygate.toml"
    config.write_text('[requirements]\nspec = "spec.yaml"\n', encoding="utf-8")
    report = run(load(config, tmp_path), RunOptions(stages=("static", "requirements")))
    details = next(each.details for each in report.stages if isinstance(each.details, RequirementsDetails))
    standing = {"bfloat16": "agreed", "float16": "contradicted"}[compute]
    assert [(each.aspect.value, each.line, each.standing) for each in details.precision] == [
        ("compute", 3, standing),
        ("driver", 4, "agreed"),
    ]
    blamed = [each for each in report.reasons if "precision.compute" in str(each)]
    assert bool(blamed) == (compute == "float16")
    table = next(text for name, text in render(report, "").items() if name.endswith("gate.md"))
    assert "| Precision of | Declared | Seen in the run | Asked for |\n|---|---|---|---|\n| driver |" in table
    assert "compute | bfloat16, [train.py:6]" in table
    assert f"| {compute}, [spec.yaml:3]" in table
    assert f": {standing} |" in table
    (page,) = html.render(report, "").values()
    assert f"spec.yaml:3</span>: {standing}</td>" in page or f"spec.yaml:3</a>: {standing}</td>" in page


@pytest.mark.slow
def test_a_run_contradicts_what_the_source_leaves_open(tmp_path: Path) -> None:
    """Which dtype the weights have is decided by a name that only the test gives."""
    pytest.importorskip("torch")
    (tmp_path / "loop.py").write_text(
        textwrap.dedent(
            """
            import torch

            def train(dtype):
                net = torch.nn.Linear(4, 1).to(getattr(torch, dtype))
                sgd = torch.optim.SGD(net.parameters(), lr=0.1)
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = net(torch.ones(2, 4, dtype=getattr(torch, dtype))).mean()
                loss.backward()
                sgd.step()
            """
        ),
        encoding="utf-8",
    )
    (tmp_path / "test_loop.py").write_text(
        "from loop import train\n\n\ndef test_trains():\n    train('bfloat16')\n", encoding="utf-8"
    )
    (tmp_path / "pytest.ini").touch()
    spec_of(tmp_path, "weights: float32\ncompute: bfloat16\n")
    config = tmp_path / "verifygate.toml"
    config.write_text('[project]\nsources = ["loop.py"]\n[requirements]\nspec = "spec.yaml"\n', encoding="utf-8")
    report = run(load(config, tmp_path), RunOptions(stages=("execution", "static", "requirements")))
    checks = {check.id: check for stage in report.stages for check in stage.checks}
    weights = checks["requirements.precision.weights"]
    assert weights.status is Status.FAIL
    assert weights.actual == "spec.yaml:3 asks for float32: bfloat16 seen in the recorded tests at loop.py:10"
    assert places(weights) == [("loop.py", 10), ("spec.yaml", 3)]
    assert checks["requirements.precision.compute"].status is Status.PASS
