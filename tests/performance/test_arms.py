"""The arms at a glance: figures that follow from samples whose truth is known, and reasons where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from verifygate.model import Profile
from verifygate.performance import arms
from verifygate.performance.comparison import ArmRecord, Comparison, Failure, Host, Plan, Round, Training, Trouble
from verifygate.performance.intervals import geometric

HOST = Host("Linux x86_64", "3.11", "2.13.0", "cuda", "NVIDIA H200", True, True)
PLAN = Plan("m:build", 4, 1, 10, (0,), 3, 3)
SECONDS = {"fp32": 0.060, "tf32": 0.012, "bf16": 0.006, "fp16": 0.0075}
FLOPS = 2.4e12


def arm(name: str, host: Host = HOST, wobble: float = 0.0) -> ArmRecord:
    """Three rounds whose steps all take the same, but for `wobble` from round to round."""
    times = [SECONDS[name] * (1 + wobble * at) for at in (-1, 0, 1)]
    half = name in ("bf16", "fp16")
    return ArmRecord(
        name,
        host,
        samples_per_step=300,
        trainings=[Training(0, 10, 10, (1.0, 0.0, 1.0, 1.0 - half / 4), "d", losses=(2.0 - half / 10,))],
        rounds=[Round((time,) * 4, 4, 2**30 // (1 + half), digest="d") for time in times],
    )


def comparison(*names: str, host: Host = HOST, wobble: float = 0.0) -> Comparison:
    return Comparison(PLAN, tuple(arm(name, host, wobble) for name in names))


PROFILE = Profile(arm="fp32", device="cuda", flops={"float32": FLOPS}, busy=0.95, matrix=0.9)
ALL = ("fp32", "bf16", "tf32", "fp16")


def row(name: str, *arguments: object) -> arms.Row:
    return next(each for each in arms.rows(*arguments) if each.arm == name)  # type: ignore[arg-type]


def test_the_figures_follow_from_the_samples() -> None:
    """2.4 TFLOP in 6 ms are 400 TFLOP/s, of 989.4 that the device does in bfloat16."""
    found = row("bf16", comparison(*ALL), [PROFILE])
    assert found.seconds is not None
    assert found.seconds.value == pytest.approx(0.006)
    assert found.rate == pytest.approx(50_000)
    assert found.tflops == pytest.approx(400)
    assert found.share == pytest.approx(400 / 989.4)
    assert found.peak_bytes == 2**29
    assert found.accuracy == pytest.approx(0.6875)
    assert found.over_ieee is not None
    assert found.over_ieee.measured is not None
    assert found.over_ieee.measured.value == pytest.approx(10)
    assert found.over_ieee.bound == pytest.approx(989.4 / 66.9)
    assert found.over_tf32 is not None
    assert found.over_tf32.measured is not None
    assert found.over_tf32.measured.value == pytest.approx(2)
    assert found.over_tf32.bound == pytest.approx(2)


def test_each_arm_is_held_against_the_peak_of_its_own_precision() -> None:
    """float32 against IEEE's, TF32 against TF32's; nothing is a speed-up over itself."""
    found = {each.arm: each for each in arms.rows(comparison(*ALL), [PROFILE])}
    assert found["ieee"].share == pytest.approx(40 / 66.9)
    assert found["tf32"].share == pytest.approx(200 / 494.7)
    assert found["ieee"].over_ieee is None
    assert found["tf32"].over_tf32 is None
    assert found["tf32"].over_ieee is not None


def test_the_table_is_a_line_for_each_arm_and_what_limits_it() -> None:
    """Four lines of figures, float8 with its reason, then limits and the source of the peaks."""
    lines = arms.text(comparison(*ALL), [PROFILE, replace_arm("bf16", busy=0.4)]).splitlines()
    assert lines[0] == "m:build, on NVIDIA H200, torch 2.13.0, 2.4 TFLOP of matrix products in a step"
    assert [line.split()[0] for line in lines[1:7]] == ["arm", "ieee", "tf32", "bf16", "fp16", "float8"]
    assert "10.00, 10.00 to 10.00 (14.8)" in lines[4]
    assert "40.4%" in lines[4]
    assert lines[6].startswith("float8  NOT MEASURED: the workload has no layers in float8")
    assert lines[7] == "ieee is limited by: compute-bound: the device is busy, mostly with matrix work (busy 95%)"
    assert lines[8].startswith("bf16 is limited by: launch-bound")
    assert "NVIDIA H200 datasheet" in lines[9]


def replace_arm(name: str, **fields: object) -> Profile:
    return PROFILE.model_copy(update={"arm": name, **fields})


def test_a_card_that_nobody_knows_has_no_share_and_no_bound() -> None:
    """What was timed is shown all the same."""
    unknown = replace(HOST, device_name="Some GPU")
    found = row("bf16", comparison(*ALL, host=unknown), [PROFILE])
    assert found.tflops == pytest.approx(400)
    assert found.share is None
    assert found.over_ieee is not None
    assert found.over_ieee.bound is None
    text = arms.text(comparison(*ALL, host=unknown), [PROFILE])
    assert "of peak, and the bounds: NOT MEASURED: not known of Some GPU" in text
    assert "(unknown)" in text


def test_without_all_products_counted_there_is_no_rate_of_them() -> None:
    """A profile that misses an operator would make the device look slower than it is."""
    gap = PROFILE.model_copy(update={"uncounted": {"_scaled_mm": 3}})
    for profiles in ((), (gap,)):
        assert row("bf16", comparison(*ALL), profiles).tflops is None
        assert "TFLOP/s: NOT MEASURED" in arms.text(comparison(*ALL), profiles)


def test_on_a_cpu_each_arm_that_cannot_run_has_its_reason() -> None:
    """TF32 and float8 are not there, fp16 was not asked for, and no share of a peak is made up."""
    cpu = Host("Linux x86_64", "3.11", "2.13.0", "cpu", "cpu", True)
    found = {each.arm: each for each in arms.rows(comparison("fp32", "bf16", host=cpu))}
    assert {name: each.reason for name, each in found.items() if each.reason} == {
        "tf32": "a CPU has no TF32",
        "fp16": "not among the arms that were asked for",
        "float8": "the workload has no layers in float8; matrix products alone are in the table of products",
    }
    assert found["bf16"].share is None


def test_an_old_card_has_no_peak_in_bfloat16() -> None:
    """A T4 emulates it."""
    old = replace(HOST, device_name="Tesla T4", tf32=False)
    found = row("bf16", comparison("fp32", "bf16", "fp16", host=old), [PROFILE])
    assert found.share is None
    assert row("fp16", comparison("fp32", "bf16", "fp16", host=old), [PROFILE]).share is not None
    assert row("tf32", comparison("fp32", "bf16", host=old)).reason == "the device has no TF32"


def test_an_arm_that_broke_says_how_and_is_no_base() -> None:
    """Nor are speed-ups over it told."""
    broken = comparison(*ALL)
    broken.arms[2].failure = Failure(Trouble.RAISED, "RuntimeError: no kernel", "train")
    assert row("tf32", broken).reason == "RuntimeError: no kernel (while training)"
    assert row("bf16", broken).over_tf32 is None
    assert "NOT MEASURED: RuntimeError: no kernel" in arms.text(broken)


def test_arms_that_saw_other_data_are_not_compared() -> None:
    """The step time stands, the ratio does not."""
    apart = comparison(*ALL)
    apart.arms[1].rounds[1] = replace(apart.arms[1].rounds[1], digest="other")
    found = row("bf16", apart)
    assert found.seconds is not None
    assert found.over_ieee == arms.Speedup(None, pytest.approx(989.4 / 66.9))


def test_the_interval_of_a_step_widens_with_its_rounds() -> None:
    """Student's t on logarithms; rounds that agree leave nothing open, one alone says nothing."""
    calm, wild = (row("bf16", comparison(*ALL, wobble=each)).seconds for each in (0.0, 0.05))
    assert calm is not None
    assert wild is not None
    assert calm.low == pytest.approx(calm.high)
    assert wild.low < 0.95 * wild.value < wild.value < 1.05 * wild.value < wild.high
    assert geometric([2.0]) is None
    assert geometric([2.0, 0.0]) is None
    found = geometric([1.0, 4.0])
    assert found is not None
    assert found.value == pytest.approx(2)
