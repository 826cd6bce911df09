"""In which precision the float32 arms computed, and what a speed-up over either of them can be at the most."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from verifygate.config.performance import PerformanceSettings, Targets
from verifygate.instrument.bench.float32_precision import MIXED, computed_in
from verifygate.model import Measurement, StageResult, Status
from verifygate.performance.comparison import ArmRecord, Comparison, Host, Plan, Round, Training
from verifygate.performance.stage import summarised

CPU = Host("Linux x86_64", "3.11", "2.13", "cpu", "cpu", True)
H100 = Host("Linux x86_64", "3.11", "2.13", "cuda", "NVIDIA H100 80GB HBM3", True, tf32=True)
SETTINGS = PerformanceSettings(workload="m:f", rounds=3, steps=4, targets=Targets(speedup=1.5))
PLAN = Plan("m:f", steps=4, warmup=1, train_steps=60, seeds=(0,), rounds=3, rounds_max=3)
IEEE = {"matrix products": "IEEE", "convolutions": "IEEE"}


def arm(name: str, step: float, host: Host = H100, computed: dict[str, str] = IEEE) -> ArmRecord:
    blocks = [Round((step, step * 1.01, step, step * (1 + number / 1000)), 4) for number in range(3)]
    flags = {"TF32": "on" if name == "tf32" else "off"}
    trainings = [Training(0, 60, 60, (0.0, 1.0))]
    return ArmRecord(name, host, 8, flags=flags, computed_in=computed, trainings=trainings, rounds=blocks)


def result(*arms: ArmRecord, settings: PerformanceSettings = SETTINGS) -> StageResult:
    return summarised(Comparison(PLAN, arms), settings)


def measured(told: StageResult, name: str) -> Measurement:
    return next(measurement for measurement in told.measurements if measurement.id == name)


def test_a_speed_up_is_told_over_ieee_and_over_tf32() -> None:
    """Six times as fast as IEEE float32 is one and a half times as fast as what most code runs in already."""
    told = result(arm("fp32", 6.0), arm("bf16", 1.0), arm("tf32", 1.5, computed={**IEEE, "matrix products": "TF32"}))
    assert measured(told, "speedup.bf16").value == pytest.approx(6.0)
    assert measured(told, "speedup-over-tf32.bf16").value == pytest.approx(1.5)
    assert measured(told, "speedup-ceiling.bf16").value == pytest.approx(14.8, abs=0.05)
    assert measured(told, "speedup-ceiling-over-tf32.bf16").value == pytest.approx(2.0)
    assert "H100 datasheet" in measured(told, "speedup-ceiling.bf16").method
    assert ("fp32 computed in", "matrix products IEEE, convolutions IEEE") in told.details.protocol  # type: ignore[union-attr]
    assert ("tf32 computed in", "matrix products TF32, convolutions IEEE") in told.details.protocol  # type: ignore[union-attr]


def test_a_cpu_has_no_tf32() -> None:
    told = result(arm("fp32", 2.0, CPU), arm("bf16", 1.0, CPU))
    over = measured(told, "speedup-over-tf32.bf16")
    assert (over.status, over.value, over.reason) == (Status.NOT_APPLICABLE, None, "a CPU has no TF32")
    assert measured(told, "speedup-ceiling.bf16").value is None
    assert any("a CPU has no TF32" in value for _, value in told.details.protocol)  # type: ignore[union-attr]


def test_what_is_not_known_is_said() -> None:
    other = replace(H100, device_name="Some GPU")
    told = result(arm("fp32", 2.0, other), arm("bf16", 1.0, other))
    ceiling = measured(told, "speedup-ceiling.bf16")
    assert (ceiling.status, ceiling.reason) == (Status.NOT_MEASURED, "not known of Some GPU")
    assert measured(told, "speedup-over-tf32.bf16").reason == "the arm tf32 was not measured"


def test_a_target_beyond_what_the_device_allows_is_said() -> None:
    beyond = SETTINGS.model_copy(update={"targets": Targets(speedup=20.0)})
    arms = arm("fp32", 6.0), arm("bf16", 1.0)
    assert any("out of reach" in hazard for hazard in result(*arms, settings=beyond).details.hazards)  # type: ignore[union-attr]
    assert not any("out of reach" in hazard for hazard in result(*arms).details.hazards)  # type: ignore[union-attr]


def precision(value: str, **parts: Any) -> SimpleNamespace:
    return SimpleNamespace(fp32_precision=value, **parts)


def new_torch(above: str, matmul: str, conv: str) -> SimpleNamespace:
    cudnn = precision("none", conv=precision(conv), rnn=precision("none"))
    mkldnn = precision("none", matmul=precision("none"), conv=precision("none"), rnn=precision("none"))
    cuda = SimpleNamespace(matmul=precision(matmul))
    return SimpleNamespace(backends=precision(above, cuda=cuda, cudnn=cudnn, mkldnn=mkldnn))


@pytest.mark.parametrize(
    ("torch", "device", "products", "convolutions"),
    [
        (new_torch("none", "none", "tf32"), "cuda", "IEEE", "TF32"),
        (new_torch("tf32", "ieee", "none"), "cuda", "IEEE", "TF32"),
        (new_torch("none", "tf32", "tf32"), "cpu", "IEEE", "IEEE"),
    ],
)
def test_the_new_switches(torch: Any, device: str, products: str, convolutions: str) -> None:
    """What is `none` has the precision of what stands above it; a CPU heeds its own switches alone."""
    told = computed_in(torch, device)
    assert (told["matrix products"], told["convolutions"]) == (products, convolutions)


def test_the_old_switches() -> None:
    cuda, cudnn = SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)), SimpleNamespace(allow_tf32=True)
    told = computed_in(SimpleNamespace(backends=SimpleNamespace(cuda=cuda, cudnn=cudnn)), "cuda")
    assert (told["matrix products"], told["convolutions"]) == ("IEEE", "TF32")


def test_mixed_switches_are_not_known() -> None:
    class Raising:
        @property
        def allow_tf32(self) -> bool:
            raise RuntimeError("mix of the legacy and new APIs")

    backends = SimpleNamespace(cuda=SimpleNamespace(matmul=Raising()), cudnn=SimpleNamespace(allow_tf32=False))
    assert computed_in(SimpleNamespace(backends=backends), "cuda")["matrix products"] == MIXED


def test_real_torch_on_a_cpu() -> None:
    torch = pytest.importorskip("torch")
    assert set(computed_in(torch, "cpu")) >= {"matrix products", "convolutions"}
