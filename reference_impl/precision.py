"""The whole device and dtype policy, in one place, with the reason for each choice as text.

asked            CUDA / ROCm            CPU           MPS
auto             bf16, else fp16        fp32          fp32
fp32             fp32                   fp32          fp32
bf16             where it is native     bf16          not offered
fp16 + scaler    fp16                   fp16          not offered
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch

from reference_impl.errors import PrecisionUnavailableError

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Precision:  # requirement: AMP-07
    """Where the run computes and in which dtype, and why. The parameters stay FP32 in every case."""

    device: torch.device
    dtype: torch.dtype  # what autocast lowers matrix products to; float32 means that AMP is off
    reason: str

    @property
    def name(self) -> str:
        """fp32, bf16 or fp16."""
        return next(name for name, dtype in DTYPES.items() if dtype == self.dtype)

    def autocast(self) -> torch.amp.autocast:
        """The context for forward and loss; a no-op in fp32.

        It gets the device's *type*: "cuda:0" would be accepted, but torch then leaves out its checks. And fp32
        is enabled=False rather than dtype=float32, which torch answers with a warning.
        """
        on = self.dtype != torch.float32
        return torch.amp.autocast(self.device.type, dtype=self.dtype if on else None, enabled=on)

    def scaler(self, init_scale: float, growth_interval: int) -> torch.amp.GradScaler:
        """The loss scaler, enabled for fp16 alone: bf16 has the exponent range of fp32 and needs none."""
        return torch.amp.GradScaler(
            self.device.type,
            init_scale=init_scale,
            growth_interval=growth_interval,
            enabled=self.dtype == torch.float16,
        )


def choose_precision(device: str, precision: str, *, allow_fallback: bool = False, local_rank: int = 0) -> Precision:
    """Decide device and dtype from what was asked and what this machine has.

    What the machine lacks is an error, unless `allow_fallback`: then the run goes on in FP32, with a warning, on
    the device asked for or, if that is missing, on the CPU. Raises PrecisionUnavailableError.
    """
    kind = _best_device() if device == "auto" else device  # requirement: AMP-08, EDGE-01, EDGE-02
    lack = _missing_device(kind, local_rank)
    usable = "cpu" if lack else kind
    lack = lack or _missing_dtype(kind, precision)
    if lack and not allow_fallback:
        raise PrecisionUnavailableError(f"{lack} (allow_fallback = true would run in fp32 instead)")
    where = torch.device(usable, local_rank) if usable == "cuda" else torch.device(usable)
    if lack:
        warnings.warn(f"{lack}: falling back to fp32 on {where}", RuntimeWarning, stacklevel=2)
        return Precision(where, torch.float32, f"fell back to fp32: {lack}")
    if precision == "auto":
        name, reason = _best_dtype(kind)
        return Precision(where, DTYPES[name], reason)
    return Precision(where, DTYPES[precision], f"{precision} was asked for")


def set_float32(products: str) -> None:  # requirement: AMP-07
    """Say what CUDA does with products of float32 numbers: `ieee` keeps their 24 bits, `tf32` rounds them to 11.

    Left alone, torch 2.13 multiplies matrices in IEEE float32 and convolves in TF32. Both switches are those of every
    torch; `torch.backends.fp32_precision`, which came with 2.9, must not be mixed with them. Holds for the process.
    """
    torch.set_float32_matmul_precision("high" if products == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = products == "tf32"


def float32_products() -> dict[str, str]:
    """What the switches say now, for the record of a run: of matrix products and of convolutions."""
    rounds = torch.backends.cudnn.allow_tf32
    return {"matmul": torch.get_float32_matmul_precision(), "cudnn": "tf32" if rounds else "ieee"}


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _best_dtype(kind: str) -> tuple[str, str]:
    """The dtype that `auto` means on a device, and why."""
    if kind == "cpu":
        return "fp32", "auto: few CPUs are faster in half precision; ask for bf16 or fp16 to test that path"
    if kind == "mps":
        return "fp32", "auto: this program has no proof of its half-precision path on MPS"
    if _native_bf16():
        return "bf16", f"auto: {_gpu_name()} has native bf16, whose range needs no loss scaling"
    return "fp16", f"auto: {_gpu_name()} has no native bf16; fp16 with loss scaling"


def _missing_device(kind: str, local_rank: int) -> str | None:
    if kind == "cuda" and not torch.cuda.is_available():
        return "cuda was asked for, but torch sees no CUDA or ROCm device"
    if kind == "cuda" and local_rank >= torch.cuda.device_count():
        return f"local rank {local_rank} has no GPU: torch sees {torch.cuda.device_count()}"
    if kind == "mps" and not torch.backends.mps.is_available():
        return "mps was asked for, but torch sees no Apple GPU"
    return None


def _missing_dtype(kind: str, precision: str) -> str | None:
    if kind == "mps" and precision in ("bf16", "fp16"):
        return f"{precision} was asked for, but this program offers fp32 alone on MPS"
    if kind == "cuda" and precision == "bf16" and not _native_bf16():
        return f"bf16 was asked for, but {_gpu_name()} has no native bf16 (Ampere and later do)"
    return None


def _native_bf16() -> bool:
    # Emulated bf16 runs on older GPUs too, slower than fp32. True on ROCm builds.
    return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def _gpu_name() -> str:
    return f"{torch.cuda.get_device_name()} ({'ROCm' if torch.version.hip else 'CUDA'})"
