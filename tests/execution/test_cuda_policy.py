"""CUDA's autocast operator policy on the CPU: the tables against torch's own, and one by one what comes out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from verifygate.instrument.cuda import policy as cuda_policy

HEADER = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
ELSEWHERE = {"cudnn_convolution", "cudnn_convolution_transpose", "_cudnn_rnn"}
"""CUDA's own entries to cuDNN: no code reaches them on a CPU."""
LOW, FLOAT = torch.float16, torch.float32
said: list[str] = []


def half(*shape: int) -> torch.Tensor:
    return torch.rand(*shape).half()


def full(*shape: int) -> torch.Tensor:
    return torch.rand(*shape)


CALLS: dict[str, tuple[Callable[[], Any], torch.dtype]] = {
    "mm": (lambda: torch.mm(full(2, 2), full(2, 2)), LOW),
    "matmul": (lambda: full(3, 2, 2) @ full(2, 2), LOW),
    "bmm": (lambda: torch.bmm(full(3, 2, 2), full(3, 2, 2)), LOW),
    "addmm": (lambda: torch.addmm(full(2, 2), full(2, 2), full(2, 2)), LOW),
    "addmv": (lambda: torch.addmv(full(2), full(2, 2), full(2)), LOW),
    "addr": (lambda: torch.addr(full(2, 2), full(2), full(2)), LOW),
    "mv": (lambda: torch.mv(full(2, 2), full(2)), LOW),
    "einsum": (lambda: torch.einsum("ij,jk->ik", full(2, 2), full(2, 2)), LOW),
    "chain_matmul": (lambda: torch.linalg.multi_dot([full(2, 2), full(2, 2), full(2, 2)]), LOW),
    "linear": (lambda: F.linear(full(2, 2), full(2, 2)), LOW),
    "prelu": (lambda: F.prelu(full(2, 2), full(1)), LOW),
    "conv1d": (lambda: F.conv1d(full(1, 1, 4), full(1, 1, 2)), LOW),
    "conv2d": (lambda: F.conv2d(full(1, 1, 4, 4), full(1, 1, 2, 2)), LOW),
    "conv2d padding": (lambda: F.conv2d(full(1, 1, 4, 4), full(1, 1, 3, 3), padding="same"), LOW),
    "conv_transpose2d": (lambda: F.conv_transpose2d(full(1, 1, 4, 4), full(1, 1, 2, 2)), LOW),
    "attention": (lambda: F.scaled_dot_product_attention(full(1, 2, 4), full(1, 2, 4), full(1, 2, 4)), LOW),
    "lstm_cell": (lambda: torch.nn.LSTMCell(2, 2)(full(1, 2))[0], LOW),
    "gru_cell": (lambda: torch.nn.GRUCell(2, 2)(full(1, 2)), LOW),
    "rnn_tanh_cell": (lambda: torch.nn.RNNCell(2, 2)(full(1, 2)), LOW),
    "lstm": (lambda: torch.nn.LSTM(2, 2)(full(3, 1, 2))[0], LOW),
    "lstm state": (lambda: torch.nn.LSTM(2, 2)(full(3, 1, 2))[1][1], LOW),
    "gru": (lambda: torch.nn.GRU(2, 2)(full(3, 1, 2))[0], LOW),
    "rnn": (lambda: torch.nn.RNN(2, 2)(full(3, 1, 2))[0], LOW),
    "softmax": (lambda: F.softmax(half(2, 2), -1), FLOAT),
    "softmax with a dtype": (lambda: F.softmax(half(2, 2), -1, dtype=LOW), LOW),
    "log_softmax": (lambda: F.log_softmax(half(2, 2), -1), FLOAT),
    "layer_norm": (lambda: F.layer_norm(half(2, 2), (2,)), FLOAT),
    "group_norm": (lambda: F.group_norm(half(2, 2, 2), 1), FLOAT),
    "rms_norm": (lambda: F.rms_norm(half(2, 2), (2,)), FLOAT),
    "sum": (lambda: half(2, 2).sum(), FLOAT),
    "sum of a dimension": (lambda: half(2, 2).sum(0), FLOAT),
    "sum with a dtype": (lambda: half(2, 2).sum(dtype=LOW), LOW),
    "sum of integers": (lambda: torch.ones(2, dtype=torch.int32).sum(), torch.int64),
    "prod": (lambda: half(2).prod(), FLOAT),
    "cumsum": (lambda: half(2).cumsum(0), FLOAT),
    "cumprod": (lambda: half(2).cumprod(0), FLOAT),
    "norm": (lambda: half(2).norm(), FLOAT),
    "norm of a dimension": (lambda: torch.norm(half(2, 2), dim=1), FLOAT),
    "linalg.norm": (lambda: torch.linalg.norm(half(2)), FLOAT),
    "linalg.vector_norm": (lambda: torch.linalg.vector_norm(half(2)), FLOAT),
    "pow": (lambda: half(2) ** 2, FLOAT),
    "pow of a number": (lambda: 2 ** half(2), FLOAT),
    "pow of two": (lambda: half(2) ** half(2), FLOAT),
    "exp": (lambda: half(2).exp(), FLOAT),
    "log": (lambda: half(2).log(), FLOAT),
    "log1p": (lambda: half(2).log1p(), FLOAT),
    "rsqrt": (lambda: half(2).rsqrt(), FLOAT),
    "reciprocal": (lambda: half(2).reciprocal(), FLOAT),
    "softplus": (lambda: F.softplus(half(2)), FLOAT),
    "cosine_similarity": (lambda: F.cosine_similarity(half(2, 2), half(2, 2)), FLOAT),
    "logsumexp": (lambda: half(2, 2).logsumexp(0), FLOAT),
    "cdist": (lambda: torch.cdist(half(2, 2), half(2, 2)), FLOAT),
    "interpolate": (lambda: F.interpolate(half(1, 1, 2, 2), scale_factor=2, mode="bilinear"), FLOAT),
    "mse_loss": (lambda: F.mse_loss(half(2), half(2)), FLOAT),
    "l1_loss": (lambda: F.l1_loss(half(2), half(2)), FLOAT),
    "cross_entropy": (lambda: F.cross_entropy(half(2, 2), torch.tensor([0, 1])), FLOAT),
    "cross_entropy, smoothed": (
        lambda: F.cross_entropy(half(2, 2), torch.tensor([0, 1]), label_smoothing=0.1),
        FLOAT,
    ),
    "nll_loss": (lambda: F.nll_loss(half(2, 2), torch.tensor([0, 1])), FLOAT),
    "kl_div": (lambda: F.kl_div(half(2), half(2), reduction="batchmean"), FLOAT),
    "bce_with_logits": (lambda: F.binary_cross_entropy_with_logits(half(2), half(2)), FLOAT),
    "mean": (lambda: half(2).mean(), LOW),
    "relu": (lambda: F.relu(half(2)), LOW),
    "gelu": (lambda: F.gelu(half(2)), LOW),
    "sigmoid": (lambda: torch.sigmoid(half(2)), LOW),
    "batch_norm": (lambda: F.batch_norm(half(2, 2), torch.zeros(2), torch.ones(2)), LOW),
    "max_pool3d": (lambda: F.max_pool3d(half(1, 1, 2, 2, 2), 2), LOW),
    "adaptive_avg_pool3d": (lambda: F.adaptive_avg_pool3d(half(1, 1, 2, 2, 2), 1), LOW),
    "reflection pad": (lambda: F.pad(half(1, 1, 4, 4), (1, 1, 1, 1), mode="reflect"), LOW),
    "cat of half and float": (lambda: torch.cat([half(2), full(2)]), FLOAT),
    "stack of half and float": (lambda: torch.stack([half(2), full(2)]), FLOAT),
    "addcmul of half": (lambda: torch.addcmul(half(2), half(2), half(2)), LOW),
    "addcmul of half and float": (lambda: torch.addcmul(half(2), half(2), full(2)), FLOAT),
    "index_put of half into float": (lambda: full(2).index_put((torch.tensor([0]),), half(1)), FLOAT),
    "scatter_add": (lambda: full(2).scatter_add(0, torch.tensor([0]), half(1)), FLOAT),
    "grid_sample": (lambda: F.grid_sample(half(1, 1, 2, 2), half(1, 2, 2, 2), align_corners=False), LOW),
    "atan2": (lambda: torch.atan2(half(2), full(2)), FLOAT),
    "double stays": (lambda: torch.mm(full(2, 2).double(), full(2, 2).double()), torch.float64),
    "custom region off": (lambda: _off(lambda: half(2).sum()), LOW),
}


def _off(call: Callable[[], torch.Tensor]) -> torch.Tensor:
    with torch.autocast("cpu", enabled=False):
        return call()


@pytest.fixture(scope="module")
def policy() -> Iterator[cuda_policy.Policy]:
    """CUDA's policy, taken away again: other tests share this process."""
    installed = cuda_policy.Policy(said.append)
    yield installed
    installed.remove()


def listed(macro: str) -> set[str]:
    """The operators that torch's own header puts under a policy."""
    text = HEADER.read_text(encoding="utf-8")
    (body,) = re.findall(rf"#define {macro}\(_\)((?:.*\\\n)*.*\n)", text)
    quoted = re.findall(r'"([\w.]+)"', body)
    plain = re.findall(r"_\((\w+)(?:, (\w+))?\)", body)
    return set(quoted) or {f"{name}.{overload}" if overload else name for name, overload in plain}


@pytest.mark.parametrize(
    ("macro", "table"),
    [
        ("AT_FORALL_LOWER_PRECISION_FP", cuda_policy.LOWER),
        ("AT_FORALL_FP32", cuda_policy.FLOAT32),
        ("AT_FORALL_FP32_SET_OPT_DTYPE", cuda_policy.FLOAT32_OUTPUT),
        ("AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE", cuda_policy.APPENDED_DTYPE),
        ("AT_FORALL_PROMOTE", cuda_policy.WIDEST),
    ],
)
def test_the_tables_are_torchs_own(macro: str, table: Any):
    assert sorted(table) == sorted(listed(macro))


def test_every_operator_that_one_of_the_two_treats_is_in_a_table():
    """An operator that a new torch adds to CUDA's policy, or to the CPU's, must be placed."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    cuda = {name for name in names if has(f"aten::{name}", "AutocastCUDA")}
    cpu = {name for name in names if has(f"aten::{name}", "AutocastCPU")}
    alike = {name for name in cuda if cuda_policy.same_on_both(name)}
    placed = {
        *alike,
        *cuda_policy.LOWER,
        *cuda_policy.FLOAT32,
        *cuda_policy.FLOAT32_OUTPUT,
        *cuda_policy.APPENDED_DTYPE,
        *cuda_policy.WIDEST,
        *cuda_policy.BANNED,
    }
    assert cuda - placed - ELSEWHERE == set()
    handled = {*cuda_policy.UNTOUCHED, *cuda_policy.KEPT_LOW, *cuda_policy.NOT_COVERED["fft"].split()}
    same = {"conv1d.padding", "conv2d.padding", "conv3d.padding"}  # both end in a convolution in half
    inner = {"mkldnn_rnn_layer", "_grid_sampler_2d_cpu_fallback"}  # only reached below an operator of the tables
    assert cpu - cuda - handled - same - inner - set(cuda_policy.RECURRENT) == set()


@pytest.mark.parametrize("name", CALLS)
def test_an_operator_gives_the_dtype_that_cuda_gives(policy: cuda_policy.Policy, name: str):
    call, dtype = CALLS[name]
    with torch.autocast("cpu", dtype=torch.float16):
        assert call().dtype is dtype


def test_without_the_policy_the_cpu_differs():
    """What the policy is for; run elsewhere, because here it may be installed."""
    code = (
        "import torch, json; h = torch.ones(2).half()\n"
        "with torch.autocast('cpu', dtype=torch.float16): print(json.dumps([str((h ** 2).dtype), str(h.sum().dtype)]))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(told) == ["torch.float16", "torch.float16"]


def test_binary_cross_entropy_is_refused(policy: cuda_policy.Policy):
    with torch.autocast("cpu", dtype=torch.float16), pytest.raises(RuntimeError, match="unsafe to autocast"):
        F.binary_cross_entropy(full(2), full(2))
    with torch.autocast("cpu", enabled=False):
        assert F.binary_cross_entropy(full(2), full(2)).isfinite()


def test_a_half_matrix_is_not_inverted(policy: cuda_policy.Policy):
    """The CPU's autocast would lift it to float32; CUDA's does not, and CUDA has no such kernel."""
    with torch.autocast("cpu", dtype=torch.float16), pytest.raises(RuntimeError, match="Low precision"):
        torch.linalg.inv(torch.eye(2).half())


def test_gradients_flow_through_the_casts(policy: cuda_policy.Policy):
    weight = torch.rand(4, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.float16):
        F.softmax(torch.einsum("ij,jk->ik", weight, weight), -1).pow(2).sum().backward()
    assert weight.grad is not None
    assert weight.grad.dtype is torch.float32
    assert weight.grad.abs().sum() > 0


def test_an_operator_that_is_not_covered_says_so(policy: cuda_policy.Policy):
    said.clear()
    with torch.autocast("cpu", dtype=torch.float16):
        torch.fft.fft(full(4))
        assert said == []
        assert torch.fft.fft(half(4)).dtype is torch.complex64
    assert said == ["fft"]
