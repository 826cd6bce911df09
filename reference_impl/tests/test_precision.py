"""The policy table, on machines that this one pretends to be."""

from __future__ import annotations

import warnings

import pytest
import torch

from reference_impl.errors import PrecisionUnavailableError
from reference_impl.precision import DTYPES, Precision, choose_precision, float32_products, set_float32


def pretend(
    monkeypatch: pytest.MonkeyPatch, *, cuda: int = 0, bf16: bool = False, mps: bool = False, rocm: bool = False
) -> None:
    """Make torch report `cuda` GPUs, with or without native bf16, or an Apple GPU."""

    def bf16_supported(including_emulation: bool = True) -> bool:
        return bf16 or including_emulation  # as torch does: every GPU can emulate it

    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", bf16_supported)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Test GPU")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.setattr(torch.version, "hip", "7.0" if rocm else None)


@pytest.mark.requirement("AMP-08")
@pytest.mark.parametrize(
    ("machine", "asked", "device", "name", "reason"),
    [
        ({}, "auto", "cpu", "fp32", "auto: few CPUs are faster"),
        ({}, "fp32", "cpu", "fp32", "asked for"),
        ({}, "bf16", "cpu", "bf16", "asked for"),
        ({}, "fp16", "cpu", "fp16", "asked for"),
        ({"cuda": 1, "bf16": True}, "auto", "cuda:0", "bf16", "Test GPU (CUDA) has native bf16"),
        ({"cuda": 1}, "auto", "cuda:0", "fp16", "no native bf16; fp16 with loss scaling"),
        ({"cuda": 1}, "fp16", "cuda:0", "fp16", "asked for"),
        ({"cuda": 1, "bf16": True, "mps": True}, "fp32", "cuda:0", "fp32", "asked for"),
    ],
)
def test_policy(
    monkeypatch: pytest.MonkeyPatch, machine: dict[str, int], asked: str, device: str, name: str, reason: str
) -> None:
    pretend(monkeypatch, **machine)  # type: ignore[arg-type]
    precision = choose_precision("auto", asked)
    assert (str(precision.device), precision.name) == (device, name)
    assert reason in precision.reason


@pytest.mark.requirement("EDGE-02")
def test_rocm_is_cuda_to_torch_and_the_reason_says_rocm(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, cuda=1, bf16=True, rocm=True)
    precision = choose_precision("auto", "auto")
    assert (precision.device.type, precision.name) == ("cuda", "bf16")
    assert "ROCm" in precision.reason


@pytest.mark.requirement("EDGE-02")
def test_an_apple_gpu_runs_fp32_and_refuses_half_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, mps=True)
    precision = choose_precision("auto", "auto")
    assert (precision.device.type, precision.name) == ("mps", "fp32")
    assert not precision.scaler(65536.0, 2000).is_enabled()
    with pytest.raises(PrecisionUnavailableError, match="fp32 alone on MPS"):
        choose_precision("mps", "fp16")
    with pytest.warns(RuntimeWarning, match="falling back to fp32 on mps"):
        assert choose_precision("mps", "fp16", allow_fallback=True).name == "fp32"


@pytest.mark.requirement("EDGE-01")
@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_missing_device_is_an_error_unless_fallback_is_allowed(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    pretend(monkeypatch)
    with pytest.raises(PrecisionUnavailableError, match=f"{device} was asked for.*allow_fallback"):
        choose_precision(device, "fp16")
    with pytest.warns(RuntimeWarning, match="falling back to fp32 on cpu"):
        precision = choose_precision(device, "fp16", allow_fallback=True)
    assert (precision.device.type, precision.name) == ("cpu", "fp32")
    assert precision.reason.startswith(f"fell back to fp32: {device} was asked for")


@pytest.mark.requirement("AMP-08")
def test_bf16_on_a_gpu_without_it_is_an_error_or_fp32_on_that_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, cuda=1)
    with pytest.raises(PrecisionUnavailableError, match=r"Test GPU .* has no native bf16"):
        choose_precision("cuda", "bf16")
    with pytest.warns(RuntimeWarning, match="falling back"):
        precision = choose_precision("cuda", "bf16", allow_fallback=True)
    assert (str(precision.device), precision.name) == ("cuda:0", "fp32")


def test_a_local_rank_takes_its_own_gpu_and_must_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, cuda=2, bf16=True)
    assert str(choose_precision("cuda", "bf16", local_rank=1).device) == "cuda:1"
    with pytest.raises(PrecisionUnavailableError, match="local rank 2 has no GPU: torch sees 2"):
        choose_precision("cuda", "bf16", local_rank=2)


@pytest.mark.requirement("AMP-07")
@pytest.mark.parametrize("name", DTYPES)
def test_the_factories_switch_amp_on_and_off_without_a_warning(name: str) -> None:
    precision = Precision(torch.device("cpu"), DTYPES[name], "")
    a = torch.ones(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaler = precision.scaler(256.0, 10)
        with precision.autocast():
            assert (a @ a).dtype == DTYPES[name]
    assert scaler.is_enabled() == (name == "fp16")
    assert scaler.get_scale() == (256.0 if name == "fp16" else 1.0)
    assert (a @ a).dtype == torch.float32


@pytest.mark.requirement("AMP-07")
@pytest.mark.parametrize(("asked", "matmul"), [("tf32", "high"), ("ieee", "highest")])
def test_products_of_float32_are_what_was_asked_for(asked: str, matmul: str) -> None:
    """Read from the switches, by the interface of each version: a mixture of two would raise here."""
    try:
        set_float32(asked)
        assert float32_products() == {"matmul": matmul, "cudnn": asked}
        assert torch.backends.cuda.matmul.allow_tf32 == (asked == "tf32")
    finally:
        set_float32("ieee")


def test_nothing_falls_back_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="falling back"):
            choose_precision("cuda", "bf16", allow_fallback=True)


@pytest.mark.gpu
@pytest.mark.requirement("AMP-08")
@pytest.mark.parametrize("name", ["fp32", "fp16"])
def test_a_real_gpu_lowers_matrix_products(name: str) -> None:
    precision = choose_precision("cuda", name)
    a = torch.ones(8, 8, device=precision.device)
    with precision.autocast():
        assert (a @ a).dtype == DTYPES[name]
    assert precision.scaler(65536.0, 2000).is_enabled() == (name == "fp16")
