"""Small programs on the machine, against what the same programs do in torch: dtypes, regions, events, line by line."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode, resolve_name

sys.path.insert(0, str(Path(__file__).parents[1]))  # beside the machine's own tests

from run_text import program_of, run, variable

from verifygate.events.record import Kind
from verifygate.static.machine.machine import Entry, run_entry
from verifygate.static.machine.torch_library.library import TORCH

IMPORTS = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
Row = tuple[int, str, tuple[str, ...], tuple[str, ...]]


class Recorder(TorchFunctionMode):
    """Line, operator, dtypes in and out of what a program calls."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[Row, None] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = tuple(each.dtype for each in _tensors([*args, *(kwargs or {}).values()]))
        result = func(*args, **(kwargs or {}))
        name = (resolve_name(func) or "").replace("torch.functional.", "torch.")
        line = _line()
        made = tuple(each.dtype for each in _tensors([result]))
        if line and made and not name.endswith((".__get__", ".__set__")):
            self.rows[(line, name, tuple(map(_plain, given)), tuple(map(_plain, made)))] = None
        return result


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _line() -> int:
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != "program":
        if "/utils/data/" in frame.f_code.co_filename.replace("\\", "/"):
            return 0  # a loader at work for itself
        if frame.f_code.co_name in ("__init__", "reset_parameters", "step", "clip_grad_norm_"):
            return 0
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_lineno if frame is not None else 0


def recorded(text: str) -> set[Row]:
    """What torch does."""
    torch.manual_seed(0)
    recorder = Recorder()
    with recorder:
        exec(compile(text, "program", "exec"), {"__name__": "__main__"})  # noqa: S102 - a program of these tests
    return set(recorder.rows)


def on_machine(text: str) -> tuple[set[Row], Any]:
    """What the machine says that it does; a dtype that is not known is `?`."""
    outcome = run_entry(program_of(text), Entry("train.py"), (TORCH,))
    rows = set()
    for each in outcome.events:
        event = each.event
        if event.kind is Kind.OPERATOR:
            both = [
                tuple("|".join(sorted(one)) or "?" for one in each or ())
                for each in (event.dtypes_in, event.dtypes_out)
            ]
            rows.add((event.line, event.operator or "", both[0], both[1]))
    return rows, outcome


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.LayerNorm(4))
        self.head = nn.Linear(4, 2)
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.zeros(2))

    def forward(self, x):
        x = self.body(x)
        return self.head(x) * self.scale + self.shift

net = Net()
x = torch.randn(3, 4)
y = torch.tensor([0, 1, 0])
"""
PROGRAMS = {
    "operators": """
        x = torch.randn(2, 2)
        h = x.half()
        a = h + x
        b = h * 2.0
        c = 1 - h
        d = h @ h
        e = x.sum() + h.mean()
        f = (x > 0) & (h > 0)
        g = torch.where(f, x, h)
        i = x.argmax(-1)
        j = torch.cat([h, x])
        k = x.max(1)
        l = torch.arange(3) / 2
        m = x.to(torch.float64).type_as(h)
        n = torch.zeros_like(h)
        o = torch.tensor([1, 2.0])
        p = h.float().softmax(-1, torch.bfloat16)
        q = x[0] ** 2
        h += x
        r = torch.einsum("ij,jk->ik", h, h)
        s = torch.full((2,), 1)
        t = x.new_zeros(2)
        """,
    "a network": NET + "out = net(x)\nloss = F.cross_entropy(out, y)\nloss.backward()\n",
    "a region": NET
    + """
with torch.autocast("cpu", dtype=torch.bfloat16):
    out = net(x)
    loss = F.cross_entropy(out, y)
out + x.mean()
""",
    "half weights": NET + "net.half()\nout = net(x.half())\n",
    "weights moved": NET + "net = net.to('cpu', torch.bfloat16)\nout = net(x.bfloat16())\nnet.float()\nnet(x)\n",
    "a part that stays float32": NET + "net.half()\nnet.head.float()\nz = net.body(x.half())\nnet.head(z.float())\n",
    "casts by hand": NET + "for p in net.parameters():\n    p.data = p.data.half()\nw = net.head.weight + 1\n",
    "layers in a list": """
        layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
        layers.append(nn.Conv1d(2, 2, 1))
        x = torch.randn(2, 2)
        for layer in layers:
            x = layer(x)
        layers[0].half()
        layers[0](x.half())
        layers[1](x)
        """,
    "losses and layers": """
        x = torch.rand(2, 3, 4, 4)
        with torch.autocast("cpu", torch.float16):
            x = nn.Conv2d(3, 3, 1)(x)
            x = nn.BatchNorm2d(3)(x)
            x = nn.GELU()(x)
            x = nn.MaxPool2d(2)(x)
            x = nn.Dropout(0.1)(x)
            x = nn.Flatten()(x)
            e = nn.Embedding(3, 4)(torch.tensor([1, 2]))
            a = nn.MSELoss()(x, torch.zeros_like(x))
            b = F.softmax(x, dim=-1)
            c = F.scaled_dot_product_attention(e[None], e[None], e[None])
        """,
    "a decorator": NET
    + """
@torch.autocast("cpu", dtype=torch.bfloat16)
def run(x):
    return net(x)

@torch.no_grad()
def test(x):
    return net(x)

run(x)
test(x)
""",
    "regions in regions": """
        x = torch.randn(2, 2)
        with torch.autocast("cpu", torch.bfloat16):
            a = x @ x
            with torch.autocast("cpu", enabled=False):
                b = a.float() @ x
            c = b @ b
        region = torch.autocast("cpu", torch.float16)
        region.__enter__()
        d = x @ x
        region.__exit__(None, None, None)
        e = x @ x
        """,
    "default dtype": """
        torch.set_default_dtype(torch.bfloat16)
        x = torch.randn(2, 2)
        y = nn.Linear(2, 2)(x)
        torch.set_default_dtype(torch.float32)
        z = torch.zeros(2) + y
        """,
    "switches of the process": """
        x = torch.randn(2, 2)
        torch.set_autocast_enabled("cpu", True)
        a = x @ x
        torch.set_autocast_dtype("cpu", torch.float16)
        b = x @ x
        with torch.autocast("cpu", torch.bfloat16):
            c = x @ x
        d = x @ x
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
        e = x @ x
        """,
    "a loader": """
        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 2

            def __getitem__(self, index):
                return {"x": torch.zeros(2, dtype=torch.float16), "y": 1}

        for batch in torch.utils.data.DataLoader(Rows(), batch_size=2):
            a = batch["x"] + 1
            b = batch["y"] + 1
        data = torch.utils.data.TensorDataset(torch.randn(2, 2), torch.arange(2))
        for x, y in torch.utils.data.DataLoader(data):
            c = x * 2
            d = y * 2
        """,
    "numbers that are not known": """
        import math
        x = torch.randn(4, 4).half()
        a = x / math.sqrt(x.size(-1))
        b = x * x.sum().item()
        n, d = x.shape
        c = x.view(-1) / n + len(x)
        e = (x @ x) * d ** -0.5
        f = x - int(x.ndim)
        """,
    "attention": """
        x = torch.randn(2, 3, 4)
        attention = nn.MultiheadAttention(4, 2)
        a, weights = attention(x, x, x)
        b = a + 1
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        with torch.autocast("cpu", torch.bfloat16):
            y = layer(x)
        z = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)(x)
        z = z * 2
        """,
    "modules by name": """
        parts = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Sequential(nn.Linear(2, 2), nn.Tanh())})
        parts["b"].bfloat16()
        x = torch.randn(2, 2)
        a = parts["a"](x)
        b = parts["b"](x.bfloat16())
        for module in parts["b"].modules():
            if isinstance(module, nn.Linear):
                module.float()
        c = parts["b"][0](x)
        """,
    "custom functions": """
        from torch.amp import custom_fwd

        @custom_fwd(device_type="cpu")
        def double(x):
            return x * 2

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.half() * 2

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 2

        y = double(torch.randn(2).half())
        z = Square.apply(torch.randn(2)) + 1
        """,
    "checkpointing": NET
    + """
from torch.utils.checkpoint import checkpoint
with torch.autocast("cpu", torch.bfloat16):
    out = checkpoint(net.body, x, use_reentrant=False)
""",
}


def complete(text: str) -> str:
    return IMPORTS + textwrap.dedent(text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_machine_sees_what_torch_does(name: str):
    """Every operator with its dtypes is there, with one dtype each, and none that did not happen."""
    text = complete(PROGRAMS[name])
    real = {row for row in recorded(text) if not row[1].startswith(("torch.Tensor.dim", "torch.Tensor.size"))}
    said, outcome = on_machine(text)
    assert not outcome.ended
    batch = {row for row in real if row[1] == "torch.Tensor.add_" and row[2] == ("int64",)}
    assert real - batch - said == set()
    assert said - real == set()


PROTOCOL = (
    NET
    + """
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu")
for _ in range(2):
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.float16):
        loss = F.cross_entropy(net(x), y) / 2
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
)


def test_the_protocol_leaves_its_events():
    _, outcome = on_machine(complete(PROTOCOL))
    kinds = [each.event.kind for each in outcome.events if each.event.kind is not Kind.OPERATOR]
    once = [Kind.ZERO_GRAD, Kind.REGION_ENTER, Kind.REGION_EXIT, Kind.SCALE, Kind.BACKWARD, Kind.UNSCALE, Kind.CLIP]
    once += [Kind.SCALER_STEP, Kind.STEP, Kind.UPDATE]
    assert kinds[:2] == [Kind.OPTIMIZER, Kind.SCALER]
    assert kinds[2 : 2 + len(once)] == once
    backward = [each.event for each in outcome.events if each.event.kind is Kind.BACKWARD]
    assert {each.scaled for each in backward} == {True}
    assert {each.region for each in backward} == {None}


def test_a_scaler_that_is_off_leaves_the_loss_as_it_is():
    text = complete(PROTOCOL.replace('GradScaler("cpu")', 'GradScaler("cpu", enabled=False)'))
    events = [each.event for each in on_machine(text)[1].events]
    assert {each.scaled for each in events if each.kind is Kind.BACKWARD} == {False}
    assert not {Kind.SCALE, Kind.UNSCALE, Kind.UPDATE} & {each.kind for each in events}
    assert Kind.STEP in {each.kind for each in events}


@pytest.mark.parametrize(
    ("made", "dtypes"),
    [
        ("torch.optim.SGD(net.parameters())", {"float32"}),
        ("net.half(); o = torch.optim.SGD(net.parameters())", {"float16"}),
        ("o = torch.optim.SGD(net.parameters()); net.half()", {"float16"}),
        ("net.head.half(); o = torch.optim.SGD(net.parameters())", {"float16", "float32"}),
        ("net.head.half(); o = torch.optim.SGD(net.body.parameters())", {"float32"}),
        ("net.half(); o = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad])", {"float16"}),
        ("net.half(); o = torch.optim.AdamW([{'params': net.head.parameters(), 'lr': 1}])", {"float16"}),
        ("net.half(); o = torch.optim.AdamW(filter(lambda p: p.ndim > 1, net.parameters()))", {"float16"}),
        ("net.half(); o = torch.optim.AdamW([p for n, p in net.named_parameters() if 'bias' in n])", {"float16"}),
        ("w = nn.Parameter(torch.zeros(2, dtype=torch.half)); o = torch.optim.SGD([w])", {"float16"}),
        ("net = nn.DataParallel(net); net.half(); o = torch.optim.SGD(net.parameters())", {"float16"}),
    ],
)
def test_a_step_knows_the_dtypes_of_the_parameters(made: str, dtypes: set[str]):
    statement = made if "o = " in made else f"o = {made}"
    text = complete(NET + statement + "\no.step()\n")
    events = [each.event for each in on_machine(text)[1].events if each.event.kind is Kind.STEP]
    assert [each.dtypes_in for each in events] == [(frozenset(dtypes),)]
    program: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "program", "exec"), program)  # noqa: S102 - a program of these tests
    held = {_plain(p.dtype) for group in program["o"].param_groups for p in group["params"]}
    assert held == dtypes


@pytest.mark.parametrize(
    ("lines", "kind", "dtypes"),
    [
        ("torch.save(net.state_dict(), 'file')", Kind.SAVE, ["float32"]),
        ("torch.save({'net': net.half().state_dict()}, 'file')", Kind.SAVE, ["float16"]),
        ("torch.distributed.all_reduce(net.half().head.weight)", Kind.REDUCE, ["float16"]),
        ("nn.utils.clip_grad_norm_(net.half().parameters(), 1.0)", Kind.CLIP, ["float16"]),
        ("net.half()\ng = torch.autograd.grad(net(x.half()).sum(), net.head.weight)[0]", Kind.GRAD, ["float16"]),
        ("o = torch.optim.SGD(net.half().parameters())", Kind.OPTIMIZER, ["float16"]),
        ("net(x).sum().backward()", Kind.BACKWARD, ["float32"]),
    ],
)
def test_an_event_has_the_dtypes_of_what_it_is_about(lines: str, kind: Kind, dtypes: list[str]):
    events = [each.event for each in on_machine(complete(NET + lines + "\n"))[1].events if each.event.kind is kind]
    assert [each.dtypes_in for each in events] == [tuple(frozenset({dtype}) for dtype in dtypes)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("x = torch.zeros(2).half()", "tensor(float16)"),
        ("x = torch.zeros(2, dtype=torch.half)", "tensor(float16)"),
        ("x = torch.zeros(2).to(unheard_of)", "tensor(?)"),
        ("x = torch.zeros(2).half().dtype", "torch.float16"),
        ("x = nn.Linear(2, 2).half().weight", "tensor(float16)"),
        ("x = nn.Linear(2, 2, bias=False).bias", "None"),
        ("x = torch.get_default_dtype()", "torch.float32"),
        ("x = torch.load('file')", "?"),
        ("import numpy\nx = torch.from_numpy(numpy.zeros(2))", "tensor(?)"),
        ("with torch.no_grad():\n    x = torch.is_grad_enabled()", "False"),
        ("torch.set_grad_enabled(False)\nx = torch.is_grad_enabled()", "False"),
        ("with torch.inference_mode(False):\n    x = torch.is_grad_enabled()", "True"),
        ("x = torch.cuda.is_available()", "True"),
        ("with torch.no_grad():\n    pass\nx = torch.is_grad_enabled()", "True"),
    ],
)
def test_values(lines: str, expected: str):
    assert variable(run(complete(lines), libraries=(TORCH,)), "x") == expected
