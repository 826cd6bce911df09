"""Programs that an error about dtypes ends: what has to be said of each, and the mend that the remedy names.

`@text@` in what is said stands for file and line of the first line with that text.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
"""
TRAIN = """
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(4, 8)
    opt.zero_grad()
    loss = train_step(m, x)
    loss.backward()
    opt.step()
"""
CUSTOM_FWD = 'torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)'


@dataclass(frozen=True)
class Program:
    """One program, and the mended one."""

    body: str
    says: tuple[str, ...]
    mend: tuple[str, str]
    """What is replaced, and by what."""

    @property
    def text(self) -> str:
        return HEAD + self.body + TRAIN

    @property
    def mended(self) -> str:
        old, new = self.mend
        assert self.text.count(old) == 1, old
        return self.text.replace(old, new)


PROGRAMS = {
    "head_outside_region": Program(
        """class M(nn.Module):
    def __init__(self):
        super().__init__(); self.body = nn.Linear(8, 8); self.head = nn.Linear(8, 2)
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = self.body(x)
        return self.head(h)
m = M()
def train_step(m, x):
    return m(x).sum()
""",
        (
            "h is bfloat16: `self.body(x)`, a Linear with float32 weights, computed in bfloat16 by autocast (@h =@)",
            "head.weight is float32: parameter of a Linear",
            "no autocast region was open here; the run entered one before",
            "remedy: move this line into the autocast region, or leave it in float32: `.float()` on `h`",
        ),
        ("self.head(h)", "self.head(h.float())"),
    ),
    "half_model_float_data": Program(
        """m = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)).to(torch.bfloat16)
def train_step(m, x):
    return m(x).sum()
""",
        (
            "x is float32: `torch.randn` without a dtype makes the default, in `torch.randn(4, 8)` (@x = torch.randn@)",
            "0.weight is bfloat16: parameter of a Linear, cast with its module (@.to(torch.bfloat16)@)",
            "remedy: cast the input to the dtype of the weights",
        ),
        ("return m(x).sum()", "return m(x.to(torch.bfloat16)).sum()"),
    ),
    "norm_in_float32": Program(
        """class Norm(nn.Module):
    def __init__(self, d):
        super().__init__(); self.weight = nn.Parameter(torch.ones(d))
    def forward(self, x):
        v = x.float().pow(2).mean(-1, keepdim=True)
        return self.weight * (x.float() * torch.rsqrt(v + 1e-6))
class M(nn.Module):
    def __init__(self):
        super().__init__(); self.norm = Norm(8); self.proj = nn.Linear(8, 2)
    def forward(self, x):
        h = self.norm(x)
        return self.proj(h)
m = M()
m.proj.bfloat16()
def train_step(m, x):
    return m(x.bfloat16()).float().sum()
""",
        (
            "h is float32: `self.norm(x)`, a Norm with float32 weights (@h = self.norm@)",
            "proj.weight is bfloat16: parameter of a Linear, cast with its module (@m.proj.bfloat16()@)",
        ),
        ("self.proj(h)", "self.proj(h.to(torch.bfloat16))"),
    ),
    "rotary": Program(
        """class A(nn.Module):
    def __init__(self):
        super().__init__(); self.q = nn.Linear(8, 8); self.k = nn.Linear(8, 8); self.v = nn.Linear(8, 8)
        self.register_buffer("cos", torch.ones(4, 8), persistent=False)
    def rot(self, t):
        return t * self.cos
    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        q, k = self.rot(q), self.rot(k)
        return F.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None])
m = A()
for lin in (m.q, m.k, m.v): lin.to(torch.bfloat16)
def train_step(m, x):
    return m(x.to(torch.bfloat16)).sum()
""",
        (
            "q[None, None] is float32: `self.rot(q)`; `mul` of bfloat16 with `cos`, which is float32 (@q, k =@)",
            "v[None, None] is bfloat16: `self.v(x)`, a Linear with bfloat16 weights",
            "remedy: cast `cos` before it is used",
        ),
        ("t * self.cos", "t * self.cos.to(t.dtype)"),
    ),
    "moe_index_put": Program(
        """class MoE(nn.Module):
    def __init__(self):
        super().__init__(); self.e = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
    def forward(self, x):
        out = torch.zeros(x.shape[0], 8)
        for i, expert in enumerate(self.e):
            rows = torch.tensor([i, i + 2])
            out[rows] = expert(x[rows])
        return out
m = MoE()
def train_step(m, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return m(x).sum()
""",
        (
            "out is float32: `torch.zeros` without a dtype makes the default",
            "remedy: make `out` with the dtype of what is written to it",
        ),
        ("torch.zeros(x.shape[0], 8)", "torch.zeros(x.shape[0], 8, dtype=torch.bfloat16)"),
    ),
    "index_add": Program(
        """m = nn.Linear(8, 8)
def train_step(m, x):
    with torch.autocast("cpu", dtype=torch.float16):
        y = m(x)
        total = torch.zeros_like(x)
        total.index_add_(0, torch.tensor([0, 1, 2, 3]), y)
    return total.sum()
""",
        (
            "total is float32: `torch.zeros_like(x)` (@zeros_like@)",
            "autocast cpu float16 was in force, entered at @with torch.autocast@",
            "remedy: cast what is written: `y.to(total.dtype)`",
        ),
        ("2, 3]), y)", "2, 3]), y.to(total.dtype))"),
    ),
    "method_past_wrapper": Program(
        """class M(nn.Module):
    def __init__(self):
        super().__init__(); self.enc = nn.Linear(8, 8); self.dec = nn.Linear(8, 2)
    def encode(self, x):
        return self.dec(self.enc(x).relu())
    def forward(self, x):
        return self.encode(x)
m = M()
inner = m.forward
def forward(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return inner(x)
m.forward = forward
m.enc.to(torch.bfloat16)
def train_step(m, x):
    return m.encode(x.to(torch.bfloat16)).sum()
""",
        ("remedy: `M.encode` goes past the wrapper around `forward`",),
        ("return m.encode(x.to(torch.bfloat16)).sum()", "return m(x).sum()"),
    ),
    "lstm": Program(
        """m = nn.LSTM(8, 8).to(torch.bfloat16)
def train_step(m, x):
    out, _ = m(x[None])
    return out.sum()
""",
        (
            "x[None] is float32",
            "m is bfloat16: parameter `weight_ih_l0` of a LSTM",
            "remedy: cast the input to the dtype of the weights",
        ),
        ("m(x[None])", "m(x[None].to(torch.bfloat16))"),
    ),
    "conv": Program(
        """m = nn.Conv1d(4, 4, 3)
def train_step(m, x):
    images = x.half()
    return m(images).sum()
""",
        (
            "images is float16: `x.half()` (@images = @)",
            "remedy: cast `images` with `.float()`, or the module of `weight` to float16",
        ),
        ("m(images)", "m(images.float())"),
    ),
    "to_numpy": Program(
        """m = nn.Linear(8, 8)
def train_step(m, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = m(x)
    print(h.detach().numpy().mean())
    return h.sum()
""",
        ("remedy: this operation does not take bfloat16 on this device: give it `h.detach().float()`",),
        ("h.detach().numpy()", "h.detach().float().numpy()"),
    ),
    "class_weights": Program(
        """m = nn.Linear(8, 3).to(torch.bfloat16)
criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 1.0]))
def train_step(m, x):
    logits = m(x.to(torch.bfloat16))
    return criterion(logits, torch.tensor([0, 1, 2, 0]))
""",
        (
            "weight is float32: buffer of a CrossEntropyLoss",
            "remedy: cast `logits` with `.float()`",
        ),
        ("criterion(logits", "criterion(logits.float()"),
    ),
    "bce_target": Program(
        """m = nn.Linear(8, 1).to(torch.bfloat16)
def train_step(m, x):
    p = torch.sigmoid(m(x.to(torch.bfloat16)))
    y = torch.ones(4, 1)
    return F.binary_cross_entropy(p, y)
""",
        (
            "y is float32: `torch.ones` without a dtype",
            "remedy: give it the dtype where it is made: `dtype=p.dtype`",
        ),
        ("torch.ones(4, 1)", "torch.ones(4, 1, dtype=p.dtype)"),
    ),
    "custom_function_backward": Program(
        """class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.T, x.T @ g
m = nn.Linear(8, 8)
def train_step(m, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = m(x)
        y = Mul.apply(h, m.weight)
    return y.float().sum()
""",
        (
            "g is bfloat16: the gradient that a backward is given",
            "w.T is float32: parameter `weight` of a Linear",
            "torch.amp.custom_fwd(device_type=...)",
        ),
        (
            "    @staticmethod\n    def forward(ctx, x, w)",
            "    @staticmethod\n    @CUSTOM_FWD\n    def forward(ctx, x, w)".replace("CUSTOM_FWD", CUSTOM_FWD),
        ),
    ),
    "lora_float32": Program(
        """class Lora(nn.Module):
    def __init__(self, base):
        super().__init__(); self.base = base
        self.a = nn.Parameter(torch.randn(8, 2)); self.b = nn.Parameter(torch.zeros(2, 8))
    def forward(self, x):
        return self.base(x) + x @ self.a @ self.b
base = nn.Linear(8, 8).to(torch.bfloat16)
m = Lora(base)
def train_step(m, x):
    h = x.to(torch.bfloat16)
    return m(h).sum()
""",
        (
            "self.a is float32: parameter `a` of a Lora",
            "remedy: cast `x` with `.float()`, or the module of `a` to bfloat16",
        ),
        ("x @ self.a @ self.b", "x.float() @ self.a @ self.b"),
    ),
    "disabled_region": Program(
        """class M(nn.Module):
    def __init__(self):
        super().__init__(); self.a = nn.Linear(8, 8); self.b = nn.Linear(8, 8)
    def forward(self, x):
        h = self.a(x)
        with torch.autocast("cpu", enabled=False):
            return self.b(h)
m = M()
def train_step(m, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return m(x).sum()
""",
        (
            "autocast was switched off here, at @enabled=False@",
            "remedy: inside a region that is off, cast the input yourself: `.float()` on `h`",
        ),
        ("self.b(h)", "self.b(h.float())"),
    ),
    "loop_data": Program(
        """m = nn.Linear(8, 2).to(torch.bfloat16)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8, 8), torch.randn(8, 2)), batch_size=4)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for inputs, targets in data:
    out = m(inputs)
    loss = F.mse_loss(out, targets)
    loss.backward(); opt.step()
def train_step(m, x):
    return m(x.to(torch.bfloat16)).sum()
""",
        ("inputs is float32: it comes from the data (@for inputs@)",),
        (
            "m(inputs)\n    loss = F.mse_loss(out, targets)",
            "m(inputs.to(torch.bfloat16))\n    loss = F.mse_loss(out.float(), targets)",
        ),
    ),
    "einsum": Program(
        """m = nn.Linear(8, 8)
bias = torch.randn(8, 8)
def train_step(m, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = m(x)
    return torch.einsum("bi,ij->bj", h, bias).sum()
""",
        (
            "bias is float32: `torch.randn` without a dtype",
            "remedy: give it the dtype where it is made: `dtype=h.dtype`",
        ),
        ("bias = torch.randn(8, 8)", "bias = torch.randn(8, 8, dtype=torch.bfloat16)"),
    ),
    "target_of_a_gradient": Program(
        """m = nn.Linear(8, 1).to(torch.bfloat16)
def train_step(m, x):
    return F.huber_loss(m(x.to(torch.bfloat16)), torch.ones(4, 1))
""",
        (
            "HuberLoss.self is bfloat16: an input of the operation whose gradient failed",
            "HuberLoss.target is float32: an input of the operation whose gradient failed",
            "remedy: cast the target to the dtype of the prediction",
        ),
        ("torch.ones(4, 1)", "torch.ones(4, 1, dtype=torch.bfloat16)"),
    ),
}
