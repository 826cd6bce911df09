"""The recorder changes nothing that the subject sees: results, random numbers, warnings and their lines, errors."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.execution.instruments import LaunchOptions, launch
from verifygate.execution.recorded_trace import read_trace
from verifygate.process.subject import StartOptions, Subject

pytest.importorskip("torch")

SCRIPT = """
import hashlib, inspect, warnings
import torch

warnings.simplefilter("always")
torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
off = torch.amp.GradScaler("cuda")  # warns, and names this line
old = torch.cpu.amp.GradScaler(init_scale=8.0)  # warns as well
scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
scheduler.step()  # before the optimizer's first step: warns
clip = torch.nn.utils.clip_grad_norm_
for number in range(8):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model(torch.randn(8, 4)).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    for each in model.parameters():
        each.grad = each.grad * 1.0  # from here on each write is looked at
    norm = clip(iter(model.parameters()) if number else model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    print(number, loss.item(), norm.item(), scaler.get_scale(), scheduler.get_last_lr())
weights = b"".join(each.detach().numpy().tobytes() for each in model.parameters())
print(hashlib.sha256(weights + torch.get_rng_state().numpy().tobytes()).hexdigest())
print(inspect.signature(torch.amp.GradScaler.step), torch.amp.GradScaler.step.__doc__[:40], torch.save.__module__)
print(torch.amp.GradScaler.step.__name__, torch.optim.Optimizer.zero_grad.__qualname__)
clip((each for each in ()), 1.0)  # an empty generator: warns
compiled = torch.compile(lambda x: clip([x], 1.0), fullgraph=True, backend="eager")
wanted = torch.ones(3, requires_grad=True)
wanted.grad = torch.full((3,), 5.0)
print(compiled(wanted), wanted.grad)
bound = lambda x: (torch.clamp_(x, -2.0, 2.0), x.nan_to_num_())
bounded = torch.compile(bound, fullgraph=True, backend="eager")
print(bounded(wanted.grad), wanted.grad)
def scripted(x: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num_(torch.clamp_(x, -1.0, 1.0)).clamp_max_(0.5)
print(torch.jit.script(scripted)(wanted.grad), wanted.grad, torch.fx.symbolic_trace(scripted).code)
def losses(x, y):
    filled = torch.where(x > 0, x, -1.0).masked_fill(x > 2, -5.0).clamp(max=9.0)
    return torch.nn.functional.cross_entropy(filled, y) + torch.nn.functional.mse_loss(x, filled)
logits, classes = torch.arange(12.0).view(4, 3).requires_grad_(), torch.tensor([0, 1, 2, 0])
print(losses(logits, classes), torch.compile(losses, fullgraph=True, backend="eager")(logits, classes))
print(torch.jit.script(torch.nn.CrossEntropyLoss())(logits, classes))
print(torch.jit.trace(losses, (logits, classes))(logits, classes))
print(torch.jit.script(torch.nn.BCELoss())(logits.sigmoid(), torch.zeros(4, 3)))
class Own(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(func is torch.clamp_, func is torch.Tensor.nan_to_num_)
        return super().__torch_function__(func, types, args, kwargs or {})
bound(torch.ones(2).as_subclass(Own))
written = lambda x: (x.mul_(2.0).add_(1.0).masked_fill_(x > 4.0, 3.0), x.__setitem__(0, 2.0), x.pow(2).sum())
print(written(torch.ones(3)), torch.compile(written, fullgraph=True, backend="eager")(torch.ones(3)))
def changed(x: torch.Tensor) -> torch.Tensor:
    return x.mul_(0.5).copy_(torch.exp(x)).div_(2.0).sum()
print(torch.jit.script(changed)(wanted.grad), wanted.grad, torch.fx.symbolic_trace(changed).code)
numbers = lambda x: (x.sum().item(), float(x.sum()), x.tolist(), f"{x.sum():.2f}", x.numpy())
print(numbers(torch.ones(3)))
torch._dynamo.config.capture_scalar_outputs = True
print(torch.compile(lambda x: x.sum().item(), fullgraph=True, backend="eager")(torch.ones(3)))
def scripted_item(x: torch.Tensor) -> float:
    return float(x.sum().item()) + float(x.sum())
print(torch.jit.script(scripted_item)(torch.ones(3)))
wanted.grad *= 3.0
wanted.grad = wanted.grad.clone()
del wanted.grad
print(wanted.grad, logits.sin().grad)  # the gradient of no leaf: warns
try:
    wanted.grad = torch.ones(2)  # raises
except RuntimeError as error:
    print(error)
wanted.grad = torch.ones(3)
try:
    wanted.grad.clamp_("a")  # raises
except TypeError as error:
    print(error)
scaler.unscale_(optimizer)
scaler.unscale_(optimizer)  # raises
"""


def test_a_recorded_run_is_the_same_run(tmp_path: Path):
    """Standard output and error, to the byte: numbers, warnings with their lines, the traceback at the end."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "train.py").write_text(SCRIPT)
    subject, env = Subject(root, Path(sys.executable)), {"OMP_NUM_THREADS": "1"}
    plain = subject.run(["train.py"], seconds=600, start=StartOptions(env))
    folder = tmp_path / "private"
    folder.mkdir()
    recorder = ("recorder", {"sample": True})
    recorded = launch(subject, ["train.py"], [recorder], folder=folder, seconds=600, options=LaunchOptions(env=env))

    assert recorded.completed.stdout_tail == plain.stdout_tail
    assert recorded.completed.stderr_tail == plain.stderr_tail
    assert recorded.completed.exit_code == plain.exit_code == 1
    for warned in ("train.py:9: UserWarning", "train.py:10: FutureWarning", "train.py:13: UserWarning"):
        assert warned in plain.stderr_tail
    assert "unscale_() has already been called" in plain.stderr_tail
    trace = read_trace(folder / "written" / "trace")
    assert trace.problems == []
    assert trace.sample["steps"] == 4
    assert sum(event.kind == "scaler.step" for event in trace.events) == 8
    assert any(event.kind == "written" for event in trace.events)


def test_a_record_is_bounded_and_says_what_it_dropped(tmp_path: Path):
    from verifygate.instrument.recorder.journal import Journal

    journal = Journal(tmp_path, head=5, tail=4)
    for number in range(100):
        journal.event("update", {"step": number})
    journal.fact("totals", events=journal.number)
    trace = read_trace(tmp_path)
    numbers = [event.number for event in trace.events]
    assert numbers[:5] == [1, 2, 3, 4, 5]
    assert numbers[-4:] == [97, 98, 99, 100]
    assert len(numbers) <= 13
    assert trace.dropped == 100 - len(numbers)


def test_sections_have_heads_of_their_own(tmp_path: Path):
    from verifygate.instrument.recorder.journal import Journal

    journal = Journal(tmp_path, head=3, tail=0)
    for name in ("one", "two"):
        journal.begin(name)
        for number in range(10):
            journal.event("update", {"step": number})
    journal.fact("totals", events=journal.number)
    trace = read_trace(tmp_path)
    assert [(section.name, len(section.events)) for section in trace.sections] == [("one", 2), ("two", 2)]
    assert trace.dropped == 16
