"""Where the numbers of a step break: line, operator and limit of 31 faulty programs, and silence on their twins."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from write_docs import DOCS

from verifygate.cli import main
from verifygate.execution.instruments import LaunchOptions, launch
from verifygate.execution.numerics import lines, never_settles, numerics, remedy
from verifygate.execution.ranks import read_run
from verifygate.execution.recorded_trace import Event, Section, Trace
from verifygate.execution.trace_summary import summary
from verifygate.model import ScaleChange, TraceSummary
from verifygate.model.numerics import BadStep, Limit, NumericsReport, Origin, UnmovedAverage
from verifygate.process.subject import Subject

torch = pytest.importorskip("torch")
PROGRAMS = Path(__file__).parent / "numerics" / "programs.py"


class Case(NamedTuple):
    """What a case is to be told of."""

    name: str
    line: int
    operator: str
    limit: str
    by_the_scale: bool


def cases() -> list[Case]:
    """In the order of the file, which is that of the steps."""
    found, name = [], ""
    for number, line in enumerate(PROGRAMS.read_text(encoding="utf-8").splitlines(), 1):
        if begun := re.match(r"def (\w+)\(p\)", line):
            name = begun[1]
        if marked := re.search(r"# BREAKS (\S+) (\S+)( scale)?$", line):
            found.append(Case(name, number, marked[1], marked[2], bool(marked[3])))
    return found


def watched(mode: str, folder: Path) -> NumericsReport:
    """All cases in one run, each of them one step."""
    launched = launch(
        Subject(PROGRAMS.parent, Path(sys.executable)),
        [str(PROGRAMS), mode],
        [
            ("emulate_cuda", {}),
            ("recorder", {"emulated": True}),
            ("numerics", {"asked": True, "first": 100}),
        ],
        folder=folder,
        seconds=300,
        options=LaunchOptions(env={"PYTHONPATH": "", "OMP_NUM_THREADS": "1"}),
    )
    assert launched.completed.exit_code == 0, launched.completed.stderr_tail
    trace = read_run(folder / "written")
    assert trace.problems == []
    return numerics(launched.told, trace, lambda path: Path(path).name)


@pytest.mark.slow
def test_each_program_is_told_where_it_breaks(tmp_path: Path) -> None:
    expected = cases()
    assert len(expected) >= 25
    report = watched("faulty", tmp_path)
    told = {each.step: each for each in report.bad_steps}
    found = []
    for number, case in enumerate(expected, 1):
        origin = told[number].origin if number in told else None
        if origin is not None:
            by_the_scale = told[number].at_any_scale is False
            found.append(Case(case.name, origin.line, origin.operator, origin.limit.value, by_the_scale))
    assert found == expected


@pytest.mark.slow
def test_the_mended_twins_are_left_alone(tmp_path: Path) -> None:
    report = watched("mended", tmp_path)
    assert (report.watched, report.bad_steps) == (len(cases()), ())


LOOP = """
import torch
model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
scaler = torch.amp.GradScaler("cuda")
for step in range(20):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(torch.ones(4, 8).cuda()).float().sum() * FACTOR
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "code", "outcome"), [("5e9", 1, "unstable"), ("5e1", 0, "clean")])
def test_a_scale_that_finds_no_level_is_never_clean(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    factor: str,
    code: int,
    outcome: str,
) -> None:
    """The first skips of a healthy run are told apart: what overflows there is the scale's doing."""
    (tmp_path / "train.py").write_text(LOOP.replace("FACTOR", factor), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command = ("probe", "--emulate-cuda", "--format", "json", "--", sys.executable, "train.py")
    assert main(command) == code
    report = json.loads(capsys.readouterr().out)
    assert report["outcome"] == outcome
    steps = report["numerics"]["bad_steps"]
    assert len(steps) >= 2, "those after a skipped step are watched, unasked"
    assert {each["origin"]["line"] for each in steps} == {9}


MASKED = """
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
for step in range(7):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        scores = model(torch.ones(4, 8))
        scores = scores.masked_fill(scores < LIMIT, float("-inf"))
        loss = torch.softmax(scores.float(), 1).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--numerics",)])
@pytest.mark.parametrize(("limit", "code", "outcome"), [("1e4", 1, "unstable"), ("-1e4", 0, "clean")])
def test_a_loss_that_is_no_number_is_never_clean(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    limit: str,
    code: int,
    outcome: str,
) -> None:
    """A row that is masked as a whole makes the loss NaN and leaves its gradients 0, so that no step is skipped.

    Each step is told by what it did itself, also while the share of half precision is sampled.
    """
    (tmp_path / "train.py").write_text(MASKED.replace("LIMIT", limit), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", *options, "--format", "json", "--", sys.executable, "train.py")) == code
    report = json.loads(capsys.readouterr().out)
    assert report["outcome"] == outcome
    steps_told = report["numerics"]["bad_steps"] if code else []
    told = {(each["origin"]["line"], each["gradients"], each["skipped"]) for each in steps_told}
    assert told == ({(11, 0, False)} if code else set())
    assert code or report["numerics"] is None or not report["numerics"]["bad_steps"]


TWO = """
import torch
from torch import nn
table = nn.Embedding(8, 4, sparse=True).cuda()
head = nn.Linear(4, 1).cuda()
first = torch.optim.SGD(table.parameters(), lr=1e-2)
second = torch.optim.SGD(head.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cuda", init_scale=2.0)
for step in range(8):
    first.zero_grad()
    second.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        rows = table(torch.tensor([0, 3]).cuda())
        loss = FAULT
    scaler.scale(loss).backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
"""
ALONE = "head(rows.detach()).float().mean() / (rows.detach().sum() * 0) + rows.mean()"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code", "skipped"),
    [("head(rows).float().mean() / (rows.sum() * 0)", 1, 16), (ALONE, 1, 8), ("head(rows).float().mean()", 0, 0)],
    ids=["both", "one", "none"],
)
def test_two_optimizers_behind_one_backward(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fault: str,
    code: int,
    skipped: int,
) -> None:
    """The second step is told where it broke as the first is; and one that never steps is enough to be unstable."""
    (tmp_path / "train.py").write_text(TWO.replace("FAULT", fault), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = ("probe", "--emulate-cuda", "--numerics", "--health", "--format", "json", "--", sys.executable, "train.py")
    assert main(words) == code
    report = json.loads(capsys.readouterr().out)
    assert report["trace"]["skipped"] == skipped
    lines_told = [each["origin"]["line"] for each in report["numerics"]["bad_steps"]]
    assert set(lines_told) == ({14} if code else set())
    assert len(lines_told) >= skipped / 2
    assert report["outcome"] == ("unstable" if code else "clean")


POISONED = """
import torch
weight = torch.nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([weight], lr=1e-2)
for step in range(4):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = torch.ones(2, 4) @ weight
    loss = (output.float() * (0 if step == 1 else 1) / (0 if step == 1 else 1)).sum()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--numerics",)])
def test_weights_that_a_step_spoilt_are_told_by_what_spoilt_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    """The steps behind it lead to the same place, watched or not; and a run whose loss ends as NaN is never clean."""
    (tmp_path / "train.py").write_text(POISONED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", *options, "--", sys.executable, "train.py")) == 1
    told = capsys.readouterr().out
    assert set(re.findall(r"not finite in step [\d, ]+: (\S+) `div`", told)) == {"train.py:9:"}
    assert "its input was inf or NaN" not in told
    ends = "the loss was inf or NaN in 3 of 4 backwards, the first time in iteration 2, and is so at the end"
    assert told.rstrip().endswith(f"unstable: {ends}")


GUARDED = """
import math, torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(4):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = (model(torch.zeros(2, 4)) + 12).half().mul(6e3).mean()
    if not math.isfinite(loss.item()):
        continue
    loss.backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_guard_that_leaves_every_step_out_is_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no child process; and the operation that broke is told although no step was made."""
    (tmp_path / "train.py").write_text(GUARDED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--numerics", "--", sys.executable, "train.py")) == 2
    told = capsys.readouterr().out
    assert "not finite in step 1: train.py:7: `mul`" in told
    assert "no step was made; this operation was the last that broke" in told
    assert "no backward and no step was recorded after 4 autocast regions: the script's own code left them out" in told


SHARDED = """
import torch, torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
net = torch.nn.Linear(8, 1)
fully_shard(net, mesh=init_device_mesh("cpu", (1,)), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
for step in range(5):
    loss = (net(torch.ones(4, 8)).float() / (0.0 if step == 2 else 1.0)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_shards_are_read_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A `DTensor` has no memory of its own, and gathered weights have given theirs back when the next step begins."""
    if not hasattr(pytest.importorskip("torch.distributed.fsdp"), "fully_shard"):
        pytest.skip("this torch has no fully_shard")
    (tmp_path / "train.py").write_text(SHARDED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--numerics", "--health", "--format", "json", "--", sys.executable, "train.py")) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["outcome"], report["trace"]["problems"]) == ("unstable", [])
    bad = {each["step"]: each for each in report["numerics"]["bad_steps"]}
    assert (bad[3]["origin"]["line"], bad[3]["origin"]["limit"], bad[3]["loss"]) == (10, "zero-divisor", True)
    assert all(each["gradients"] for each in bad.values())


RECEIVED = """
import torch, torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import _disable_current_modes
dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
net = torch.nn.Linear(8, 8)
optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
memory = [torch.full((8,), float("inf"), dtype=torch.bfloat16) for _ in range(4)]
for step in range(4):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(torch.ones(4, 8))
    dist.broadcast(memory[step], src=1)
    with _disable_current_modes():
        memory[step].fill_(1.0)  # what the other rank sent has come
    loss = (out * (memory[step] / (0.0 if step == 2 else 1.0))).float().square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_what_another_rank_sends_is_not_looked_at_before_it_has_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A collective returns at once; whatever lay in that memory before was taken for its result."""
    (tmp_path / "train.py").write_text(RECEIVED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--numerics", "--format", "json", "--", sys.executable, "train.py")) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["outcome"], report["trace"]["problems"]) == ("unstable", [])
    bad = report["numerics"]["bad_steps"][0]
    assert (bad["step"], bad["origin"]["line"], bad["origin"]["limit"]) == (3, 15, "zero-divisor")


PER_SAMPLE = """
import torch
from torch.func import functional_call, grad, vmap
net = torch.nn.Linear(6, 1)
weights = {name: each.detach().clone().requires_grad_() for name, each in net.named_parameters()}
optimizer = torch.optim.SGD(weights.values(), 1e-2)
def loss(w, x):
    with torch.autocast("cpu", dtype=torch.float16):
        return functional_call(net, w, (x[None],)).float().square().sum()
for step in range(3):
    found = vmap(grad(loss), (None, 0))({name: each.detach() for name, each in weights.items()}, torch.randn(4, 6))
    for name, each in weights.items():
        each.grad = found[name].mean(0)
    optimizer.step()
"""


@pytest.mark.slow
def test_what_runs_inside_of_torch_func_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its tensors may not be kept behind the call: that broke the recorder, and with it the answer."""
    (tmp_path / "train.py").write_text(PER_SAMPLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--numerics", "--health", "--format", "json", "--", sys.executable, "train.py")) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["outcome"], report["trace"]["problems"]) == ("clean", [])


AVERAGED = """
import copy, torch
net = torch.nn.Linear(16, 16)
average = copy.deepcopy(net).to(torch.HALF)
copied = copy.deepcopy(net).bfloat16()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-6)
for step in range(6):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(torch.randn(4, 16)).float().square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mean, other, weight in zip(average.parameters(), copied.parameters(), net.parameters()):
            mean.mul_(0.999).add_(weight.to(mean.dtype), alpha=0.001)
            other.copy_(weight)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("half", "code"), [("bfloat16", 1), ("float32", 0)])
def test_an_average_in_half_that_does_not_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], half: str, code: int
) -> None:
    """A copy of the weights in half stays as it was as well, and is no average."""
    (tmp_path / "train.py").write_text(AVERAGED.replace("HALF", half), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--format", "json", "--", sys.executable, "train.py")) == code
    report = json.loads(capsys.readouterr().out)
    assert (report["outcome"], report["trace"]["problems"]) == ("unstable" if code else "clean", [])
    unmoved = report["numerics"]["unmoved"] if code else []
    assert {each["line"] for each in unmoved} == ({15} if code else set())


def steps_of(optimizer: int, stepped: str) -> list[Event]:
    """`.` for a step, `x` for one that the scaler skipped."""
    return [
        Event(at, "scaler.step", at, (), "", {"optimizer": optimizer, "scaler": 1, "stepped": each == "."})
        for at, each in enumerate(stepped)
    ]


def summed(trace: Trace, last: float) -> TraceSummary:
    scales = (ScaleChange(scaler=1, step=0, scale=last),)
    return summary(trace, {}, lambda path: path).model_copy(update={"scales": scales})


def broken(steps: int, limit: Limit = Limit.OVERFLOW) -> NumericsReport:
    origin = Origin(operator="exp", limit=limit, path="train.py", line=3)
    bad = tuple(BadStep(step=number, skipped=True, scale=2.0, origin=origin) for number in range(1, steps + 1))
    return NumericsReport(watched=9, bad_steps=bad)


@pytest.mark.parametrize(
    ("first", "second", "last", "bad", "told"),
    [
        ("." * 12, "x" * 12, 16.0, 2, "12 of 12 steps of optimizer 2 (SGD)"),
        ("." * 12, "", 16.0, 0, ""),
        ("xxx" + "." * 17, "", 8192.0, 0, ""),
        ("x" * 17 + "...", "", 0.5, 0, "17 of 20 steps, and the scale fell to 0.5"),
        (("." + "x" * 5) * 40, "", 16.0, 0, "200 of 240 steps"),
        (".x" * 12, "", 0.25, 4, "the scale fell to 0.25, and 4 steps broke whatever it was"),
        (".x" * 12, "", 2.0, 4, ""),
    ],
    ids=["one-of-two", "healthy", "found-its-level", "collapsed", "to-the-end", "falls-slowly", "passing"],
)
def test_what_never_settles(first: str, second: str, last: float, bad: int, told: str) -> None:
    """By what the trace says of every step, whether or not it was watched."""
    names = {1: {"type": "Adam", "tensors": 2}} | ({2: {"type": "SGD", "tensors": 2}} if second else {})
    trace = Trace(sections=[Section(events=[*steps_of(1, first), *steps_of(2, second)])], optimizers=names)
    found = never_settles(trace, summed(trace, last), broken(bad))
    assert (told in found) if told else not found


@pytest.mark.parametrize(("losses", "bad", "told"), [(6, 4, "in 4 of 6 backwards"), (200, 12, "")])
def test_losses_are_counted_where_each_was_looked_at(losses: int, bad: int, told: str) -> None:
    """Steps that were run again are among the bad ones, and not among those that were watched."""
    origin = Origin(operator="exp", limit=Limit.LOG_OF_ZERO)
    steps = tuple(BadStep(step=number, skipped=False, loss=True, origin=origin) for number in range(1, bad + 1))
    report = NumericsReport(watched=3, losses=losses, bad_losses=bad, bad_steps=steps)
    found = never_settles(Trace(), TraceSummary.model_construct(scales=()), report)
    assert (told in found) if told else not found


@pytest.mark.parametrize(("scale", "told"), [(1.0, "the scale fell to 0.5, and 4 steps broke"), (2.0, "")])
def test_a_skip_by_a_scale_of_one_needs_no_cause(scale: float, told: str) -> None:
    """As where torch.compile is in use, and no step is run again: it breaks whatever the scale is."""
    steps = tuple(BadStep(step=number, skipped=True, scale=scale) for number in range(1, 5))
    trace = Trace(sections=[Section(events=steps_of(1, "xxxx......"))], optimizers={1: {"type": "Adam", "tensors": 2}})
    found = never_settles(trace, summed(trace, 0.5), NumericsReport(watched=0, bad_steps=steps))
    assert (told in found) if told else not found


@pytest.mark.parametrize(
    ("operator", "largest", "of_infinite", "told"),
    [
        ("nll_loss_forward", 3.0, False, "targets are all ignored"),
        ("mul", 3.0, True, "0 times inf"),
        ("native_layer_norm", 1e30, False, "a learning rate"),
        ("_softmax", 3.0, True, "masked as a whole"),
    ],
)
def test_what_mends_a_nan(operator: str, largest: float, of_infinite: bool, told: str) -> None:
    origin = Origin(operator=operator, limit=Limit.NOT_A_NUMBER, largest_input=largest, of_infinite=of_infinite)
    assert told in remedy(BadStep(step=1, skipped=False, origin=origin))


def test_averages_of_one_line_are_told_together() -> None:
    found = [
        UnmovedAverage(path="a.py", line=3, dtype="float16", shape=(each,), lost=0.9 + each / 100) for each in (5, 2)
    ]
    told = lines(NumericsReport(watched=4, unmoved=tuple(found)))
    assert told[0] == "an average that does not move: a.py:3, float16 of [5] and 1 more tensor"
    assert told[1].strip().startswith("92% ")


FIRST_TOO_LARGE = """
import torch
model = torch.nn.Linear(4, 1)
torch.nn.init.constant_(model.weight, 0.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**17)
for _ in range(4):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model(torch.ones(1, 4)).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update(2.0**10)
"""


@pytest.mark.slow
def test_one_bad_step_does_not_make_the_next_ones_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the first step overflows; the recorder samples the same steps, so that the watch cannot leave at once."""
    (tmp_path / "train.py").write_text(FIRST_TOO_LARGE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--numerics", "--format", "json", "--", sys.executable, "train.py")) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["trace"]["skipped"] == 1
    assert [each["step"] for each in report["numerics"]["bad_steps"]] == [1]
    assert report["numerics"]["watched"] == 4


@pytest.mark.slow
def test_watching_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights of a run are the same to the bit with and without."""
    text = LOOP.replace("FACTOR", "5e1") + "torch.save(model.state_dict(), 'weights.pt')\n"
    text = text.replace("import torch\n", "import torch\ntorch.manual_seed(0)\n", 1)
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    saved = []
    for options in ((), ("--numerics",)):
        assert main(("probe", "--emulate-cuda", *options, "--", sys.executable, "train.py")) == 0
        saved.append(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert all(torch.equal(saved[0][name], saved[1][name]) for name in saved[0])


def test_the_page_lists_every_program() -> None:
    page = (DOCS / "numerics.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+ \(`[^|]+) \|$", page, re.MULTILINE))
    for case in cases():
        by = ", by the loss scale" if case.by_the_scale else ""
        assert f"{case.name.replace('_', ' ')} (`{case.operator}`)" in rows[f"{case.limit}{by}"].split(", ")
    assert sum(len(row.split(", ")) for row in rows.values()) == len(cases())
