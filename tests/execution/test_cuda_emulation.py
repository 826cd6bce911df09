"""What code written for CUDA sees on a machine without it: one process is emulated, and answers every question."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifygate.execution.instruments import Launched, launch
from verifygate.instrument.cuda import gaps
from verifygate.process.subject import Subject

ASK = """
import copy, io, json, math, sys, threading
import torch, torch.nn as nn, torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast

def shown(value):
    if isinstance(value, torch.Tensor):
        return f"{value.device} {str(value.dtype).removeprefix('torch.')}"
    return value if isinstance(value, (bool, int, float, str, type(None), list)) else str(value)

def ask(question):
    space = dict(globals())
    *before, last = question.split("; ")
    try:
        exec("; ".join(before), space)
        return shown(eval(last, space))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"

def in_thread(call):
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start(); thread.join()
    return found[0]

def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file

class Doubled(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        return x * 2
    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, gradient):
        assert gradient.is_cuda
        return gradient * torch.full((1,), 2.0, device="cuda")

answers = {}
for question in json.load(open(sys.argv[1])):
    print("asked:", question, file=sys.stderr)
    answers[question] = ask(question)
json.dump(answers, open(sys.argv[2], "w"))
"""

DEVICES = {
    "torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.current_device()": "(True, 1, 0)",
    "torch.device('cuda' if torch.cuda.is_available() else 'cpu')": "cuda",
    "torch.device(0), torch.device('cuda', 0) == torch.device(torch.cuda.current_device())": (
        "(device(type='cuda', index=0), True)"
    ),
    "isinstance(torch.device('cpu'), torch.device), isinstance('cpu', (int, torch.device))": "(True, False)",
    "type(torch.device('cpu')) == torch.device, torch.device | None": "(True, torch.device | None)",
    "copy.deepcopy(torch.device(0)), torch.load(saved({'on': torch.device('cpu')}))": (
        "(device(type='cuda', index=0), {'on': device(type='cpu')})"
    ),
    "torch.zeros(2, device='cuda')": "cuda:0 float32",
    "torch.zeros(2, device=0)": "cuda:0 float32",
    "torch.randn(2, device='cuda:0', dtype=torch.half)": "cuda:0 float16",
    "torch.tensor([1.0], device='cuda')": "cuda:0 float32",
    "torch.as_tensor([1], device=torch.device('cuda'))": "cuda:0 int64",
    "torch.as_tensor(torch.ones(2), device='cuda')": "cuda:0 float32",
    "torch.as_tensor(torch.ones(2).cuda(), device='cpu')": "cpu float32",
    "torch.zeros_like(torch.ones(2).cuda())": "cuda:0 float32",
    "torch.zeros_like(torch.ones(2).cuda(), device='cpu')": "cpu float32",
    "torch.ones(2).cuda().new_zeros(3)": "cuda:0 float32",
    "torch.ones(2).new_tensor([1.0], device='cuda')": "cuda:0 float32",
    "torch.ones(2)": "cpu float32",
    "torch.ones(2).to('cuda:1')": "cuda:0 float32",
    "torch.ones(2).to('cuda')": "cuda:0 float32",
    "torch.ones(2).to(0)": "cuda:0 float32",
    "torch.ones(2).to('cuda', torch.half, non_blocking=True)": "cuda:0 float16",
    "torch.ones(2).to(torch.ones(1).cuda())": "cuda:0 float32",
    "torch.ones(2).cuda(0, non_blocking=True)": "cuda:0 float32",
    "torch.ones(2).cuda().cpu()": "cpu float32",
    "torch.ones(2).type_as(torch.ones(1).cuda().half())": "cuda:0 float16",
    "torch.ones(2).type('torch.cuda.HalfTensor')": "cuda:0 float16",
    "torch.ones(2).cuda().type()": "torch.cuda.FloatTensor",
    "torch.cuda.FloatTensor([1, 2])": "cuda:0 float32",
    "isinstance(torch.ones(2).cuda(), torch.cuda.FloatTensor)": True,
    "isinstance(torch.ones(2), torch.cuda.FloatTensor)": False,
    "x = torch.ones(2).cuda(); x.is_cuda, x.is_cpu, x.get_device(), x.device.type": "(True, False, 0, 'cuda')",
    "x = torch.ones(2); y = x.cuda(); y.add_(1); x.tolist()": [1.0, 1.0],
    "x = torch.ones(2).cuda(); x.to('cuda') is x and x.cuda() is x": True,
    "torch.ones(2, requires_grad=True).cuda().is_leaf": False,
    "torch.ones(2).cuda().numpy()": "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to "
    "copy the tensor to host memory first.",
    "torch.ones(2).cuda().cpu().numpy().tolist()": [1.0, 1.0],
    "copy.deepcopy(torch.ones(2).cuda())": "cuda:0 float32",
    "torch.ones(2).cuda() * torch.tensor(2.0) + 1": "cuda:0 float32",
    "torch.ones(3)[torch.tensor([0]).cuda()]": "cpu float32",
    "F.one_hot(torch.tensor([0, 1]).cuda(), 3)": "cuda:0 int64",
    "m = nn.Linear(2, 2); w = m.weight; m.cuda(); w is m.weight and w.is_cuda": True,
    "nn.Linear(2, 2).to(0).bias": "cuda:0 float32",
    "nn.Linear(2, 2).to('cuda', torch.half).bias": "cuda:0 float16",
    "nn.Linear(2, 2).cuda().cpu().bias": "cpu float32",
    "nn.Linear(2, 2, device='cuda').bias": "cuda:0 float32",
    "copy.deepcopy(nn.Linear(2, 2).cuda()).weight": "cuda:0 float32",
    "in_thread(lambda: torch.zeros(2, device='cuda') + 1)": "cuda:0 float32",
    "torch.set_default_device('cuda'); x = torch.tensor([1.0]); torch.set_default_device(None); x": "cuda:0 float32",
    "torch.ones(2).pin_memory().is_pinned(), torch.ones(2).is_pinned()": "(True, False)",
    "torch.ones(2).cuda().pin_memory()": "RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can "
    "be pinned",
    "x, = next(iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 2)), 2, pin_memory=True)))"
    "; x.is_pinned()": True,
    "x, = next(iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 2)), 2, num_workers=1, "
    "pin_memory=True))); x.is_pinned()": True,
}

BACKWARD = {
    "m = nn.Linear(2, 2).cuda(); m(torch.ones(1, 2).cuda()).sum().backward(); m.weight.grad": "cuda:0 float32",
    "s = []; m = nn.Linear(2, 2).cuda(); m.weight.register_hook(lambda g: s.append(str(g.device))); "
    "m(torch.ones(1, 2).cuda()).sum().backward(); s": ["cuda:0"],
    "x = torch.ones(2, device='cuda', requires_grad=True); Doubled.apply(x).sum().backward(); x.grad.tolist()": [2.0]
    * 2,
    "from torch.utils.checkpoint import checkpoint; m = nn.Linear(2, 2).cuda(); c = autocast(); c.__enter__(); "
    "x = torch.ones(1, 2, device='cuda', requires_grad=True); y = checkpoint(m, x, use_reentrant=False); "
    "c.__exit__(None, None, None); y.sum().backward(); x.grad": "cuda:0 float32",
}

LIVE_AMP = {
    "GradScaler().is_enabled(), torch.amp.GradScaler('cuda').is_enabled()": "(True, True)",
    "torch.is_autocast_enabled()": False,
    "c = autocast(); c.__enter__(); a = (torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype(), "
    "torch.is_autocast_enabled('cuda'), torch.is_autocast_enabled('cpu')); c.__exit__(None, None, None); a": "(True, "
    "torch.float16, True, False)",
    "c = torch.autocast('cuda', dtype=torch.bfloat16); c.__enter__(); y = nn.Linear(2, 2).cuda()(torch.ones(1, 2)."
    "cuda()); c.__exit__(None, None, None); y": "cuda:0 bfloat16",
    "c = torch.autocast('cuda:0'); c.__enter__(); y = nn.Linear(2, 2).cuda()(torch.ones(1, 2).cuda()); "
    "c.__exit__(None, None, None); y": "cuda:0 float16",
    "c = autocast(enabled=False); c.__enter__(); y = nn.Linear(2, 2)(torch.ones(1, 2)); c.__exit__(None, None, None); "
    "y": "cpu float32",
    "c = torch.autocast('cpu'); c.__enter__(); y = nn.Linear(2, 2).cuda()(torch.ones(1, 2).cuda()); "
    "c.__exit__(None, None, None); y": "cuda:0 float32",
    "in_thread(autocast()(lambda: torch.mm(torch.ones(2, 2), torch.ones(2, 2))))": "cpu float16",
    "m = nn.Linear(2, 1).cuda(); o = torch.optim.SGD(m.parameters(), 0.1); s = GradScaler(); "
    "s.scale(m(torch.full((1, 2), math.inf).cuda()).sum()).backward(); s.step(o); s.update(); s.get_scale()": 32768.0,
    "p = nn.Parameter(torch.ones(2, dtype=torch.bfloat16, device='cuda')); s = GradScaler(); "
    "s.scale(p.sum()).backward(); s.step(torch.optim.SGD([p], 0.1))": "NotImplementedError: "
    "\"_amp_foreach_non_finite_check_and_unscale_cuda\" not implemented for 'BFloat16'",
    "torch.cuda.is_bf16_supported(), torch.cuda.get_device_capability()": "(True, (8, 0))",
}

CAPTURED = (
    "x, y = torch.ones(2).cuda(), torch.zeros(2).cuda(); g = torch.cuda.CUDAGraph(); c = torch.cuda.graph(g); "
    "c.__enter__(); z = x * 2 + y.add_(0.0); c.__exit__(None, None, None)"
)
"""Two tensors, and what a graph makes of them."""

AROUND = {
    "torch.cuda.get_device_name(0)": "CUDA emulated on the CPU by verifygate",
    "p = torch.cuda.get_device_properties(0); (p.major, p.minor, p.multi_processor_count > 0)": "(8, 0, True)",
    "torch.cuda.set_device(0); torch.cuda.synchronize(); torch.cuda.empty_cache(); torch.cuda.init()": None,
    "torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved()": "(0, 0, 0)",
    "torch.cuda.memory_stats()['allocated_bytes.all.peak']": 0,
    "torch.cuda.reset_peak_memory_stats(); a, b = torch.cuda.mem_get_info(); a == b > 0": True,
    "a, b = (torch.cuda.Event(enable_timing=True) for _ in 'ab'); a.record(); b.record(); "
    "math.isnan(a.elapsed_time(b)) and b.query()": True,
    "torch.cuda.Event(enable_timing=True).elapsed_time(torch.cuda.Event(enable_timing=True))": "ValueError: Both "
    "events must be recorded before calculating elapsed time.",
    "torch.cuda.Event().elapsed_time(torch.cuda.Event())": "ValueError: Both events must be created with argument "
    "'enable_timing=True'.",
    "s = torch.cuda.Stream(); s.wait_stream(torch.cuda.current_stream()); c = torch.cuda.stream(s); c.__enter__() is "
    "s": True,
    "g = torch.Generator(device='cuda').manual_seed(3); str(g.device), isinstance(g, torch.Generator)": "("
    "'cuda:0', True)",
    "g = torch.Generator(device='cuda').manual_seed(3); a = torch.randn(2, device='cuda', generator=g); "
    "g.manual_seed(3); bool((a == torch.randn(2, device='cuda', generator=g)).all())": True,
    "torch.cuda.manual_seed_all(3); a = torch.randn(2, device='cuda'); torch.cuda.manual_seed(3); "
    "bool((a == torch.randn(2, device='cuda')).all())": True,
    "s = torch.cuda.get_rng_state(); a = torch.rand(1); torch.cuda.set_rng_state(s); bool(a == torch.rand(1))": True,
    "torch.cuda.nvtx.range_push('a'); torch.cuda.nvtx.range_pop()": 0,
    "torch.load(saved(torch.ones(2).cuda()), map_location='cuda')": "cuda:0 float32",
    "torch.load(saved({'a': torch.ones(2)}), map_location=torch.device('cuda', 0))['a']": "cuda:0 float32",
    "torch.load(saved(torch.ones(2)), map_location=lambda storage, place: storage.cuda(0))": "cuda:0 float32",
    "torch.load(saved(torch.ones(2).cuda()), map_location='cpu')": "cpu float32",
    "m = torch.compile(nn.Linear(2, 2).cuda()); list(m.state_dict()), m(torch.ones(1, 2).cuda()).is_cuda": "(["
    "'_orig_mod.weight', '_orig_mod.bias'], True)",
    "nn.DataParallel(nn.Linear(2, 2).cuda())(torch.ones(3, 2))": "cuda:0 float32",
    f"{CAPTURED}; x.fill_(3.0); y.fill_(1.0); g.replay(); z.tolist()": [7.0, 7.0],
    f"{CAPTURED}; before = z._version, y._version; g.replay(); before == (z._version, y._version)": True,
    "torch.cuda.CUDAGraph().replay()": "RuntimeError: Called CUDAGraph::replay without a preceding successful capture.",
    "torch.cuda.make_graphed_callables(F.relu, (torch.ones(1).cuda(),))": "NotEmulatedError: "
    "torch.cuda.make_graphed_callables is not emulated on a CPU (graphed callables)",
    "torch.cuda.CUDAGraph | None": "torch.cuda.CUDAGraph | None",
    "torch._C._cuda_getDeviceCount(), torch._C._cuda_getDevice(), torch._C._cuda_getCurrentRawStream(0)": "(1, 0, 0)",
    "torch.cuda.nccl.version()": "(2, 27, 5)",
    "bool(torch.version.cuda)": True,
    "torch.accelerator.is_available(), str(torch.accelerator.current_accelerator())": "(True, 'cuda')",
}

QUESTIONS: dict[str, Any] = {**DEVICES, **BACKWARD, **LIVE_AMP, **AROUND}


def emulated(folder: Path, script: str, *arguments: str, options: dict[str, Any] | None = None) -> Launched:
    """Run a script under the launcher, with CUDA emulated."""
    (folder / "script.py").write_text(script, encoding="utf-8")
    private = folder / "private"
    private.mkdir()
    subject = Subject(folder, Path(sys.executable))
    return launch(subject, ["script.py", *arguments], [("emulate_cuda", options or {})], folder=private, seconds=900)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], tuple[dict[str, Any], Launched]]:
    """The answers of one emulated process, started when a test first asks, and what it told."""
    kept: list[tuple[dict[str, Any], Launched]] = []

    def answers() -> tuple[dict[str, Any], Launched]:
        if not kept:
            folder = tmp_path_factory.mktemp("emulated")
            (folder / "questions.json").write_text(json.dumps(list(QUESTIONS)), encoding="utf-8")
            done = emulated(folder, ASK, "questions.json", "answers.json")
            assert done.completed.exit_code == 0, done.completed.stderr_tail
            kept.append((json.loads((folder / "answers.json").read_text(encoding="utf-8")), done))
        return kept[0]

    return answers


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_code_sees_what_it_would_see_on_cuda(asked: Callable[[], tuple[dict[str, Any], Launched]], question: str):
    answer = asked()[0][question]
    assert answer == QUESTIONS[question]


@pytest.mark.slow
def test_what_is_not_emulated_is_told_once_by_name_and_place(asked: Callable[[], tuple[dict[str, Any], Launched]]):
    _, done = asked()
    gaps = [one for one in done.told if one["event"] == "not-emulated"]
    assert sorted(gap["feature"] for gap in gaps) == [
        "CPU autocast",
        "CUDA graphs",
        "NCCL",
        "device handles",
        "graphed callables",
        "memory",
        "several devices",
        "time",
        "torch.compile",
        "waiting for the device",
    ]
    assert {gap["feature"]: gap["spoils"] for gap in gaps}["memory"] == "numbers"
    assert all(gap["instead"] and gap["line"] > 0 for gap in gaps)


NAMES = """
import inspect, json, sys, torch
core = [name for name in dir(torch._C) if "cuda" in name.lower()]
kinds = {f"torch.cuda.{name}": inspect.isclass(getattr(torch.cuda, name)) for name in dir(torch.cuda)}
kinds |= {f"torch._C.{name}": inspect.isclass(getattr(torch._C, name)) for name in core}
kinds["torch.device"] = inspect.isclass(torch.device)
json.dump(kinds, open(sys.argv[1], "w"))
"""


def test_a_class_stays_a_class_and_a_function_a_function(tmp_path: Path):
    """Libraries annotate with them, subclass them and ask isinstance, for every name that torch.cuda has."""
    done = emulated(tmp_path, NAMES, "emulated.json")
    assert done.completed.exit_code == 0, done.completed.stderr_tail
    subprocess.run([sys.executable, "-c", NAMES, str(tmp_path / "real.json")], check=True)
    real, there = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("real", "emulated"))
    assert {name: there.get(name) for name in real} == real


@pytest.mark.slow
def test_an_older_device_can_be_asked_for(tmp_path: Path):
    """A capability below 8 has no bfloat16 of its own."""
    script = "import torch\nprint(torch.cuda.get_device_capability(), torch.cuda.is_bf16_supported(False))\n"
    done = emulated(tmp_path, script, options={"capability": [7, 5]})
    assert done.completed.stdout_tail == "(7, 5) False\n", done.completed.stderr_tail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "gaps"),
    [("__file__", ["custom kernels"]), ("torch.__file__", []), ("'/usr/site-packages/peft/__init__.py'", [])],
)
def test_kernels_that_a_package_imports_by_itself_are_no_gap(tmp_path: Path, where: str, gaps: list[str]):
    """torch's CUDA builds come with triton and import it where it is there; on a CPU they do without."""
    (tmp_path / "triton.py").write_text("", encoding="utf-8")
    done = emulated(tmp_path, f"import torch\nexec(compile('import triton', {where}, 'exec'))\n")
    assert done.completed.exit_code == 0, done.completed.stderr_tail
    assert [one["feature"] for one in done.told if one["event"] == "not-emulated"] == gaps


@pytest.mark.slow
def test_a_real_device_is_never_hidden(tmp_path: Path):
    """Where torch sees CUDA, emulation refuses, and says so."""
    (tmp_path / "torch.py").write_text(
        "__version__ = '0'\nclass cuda:\n    is_available = staticmethod(lambda: True)\n", encoding="utf-8"
    )
    done = emulated(tmp_path, "import torch\n")
    assert not done.installed
    assert done.failed


def test_the_documentation_names_everything_that_is_not_emulated():
    """A feature, and what happens instead, word for word; the page may say more after a semicolon."""
    page = (Path(gaps.__file__).parents[2] / "docs" / "emulation.md").read_text(encoding="utf-8")
    spoils = {gaps.NUMBERS: "figures", gaps.ANYTHING: "anything", gaps.HINT: "nothing by itself"}
    assert gaps.KINDS
    for feature, (instead, what) in gaps.KINDS.items():
        said = re.escape(instead) + r"(; [^|]+)?"
        assert re.search(rf"\| {re.escape(feature)} \| {said} \| {re.escape(spoils[what])}", page), feature
