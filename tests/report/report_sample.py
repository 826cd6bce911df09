"""One report with everything in it that a report can hold, and names that want to be more than names."""

from __future__ import annotations

import datetime as dt
from typing import Any

from verifygate import scoring
from verifygate.config.settings import VerdictSettings
from verifygate.model import (
    Anatomy,
    Arm,
    Background,
    Calculation,
    Certainty,
    Check,
    Construct,
    ConstructKind,
    Contradiction,
    Curve,
    CurvePoint,
    Detail,
    Evidence,
    EvidenceClass,
    Excerpt,
    ExecutionDetails,
    Finding,
    FunctionCoverage,
    Growth,
    HazardAnswer,
    HostWait,
    Impact,
    Measurement,
    MemoryPart,
    NotAnalysed,
    NotFollowed,
    OperatorTime,
    Outcome,
    OwnEvents,
    PathStep,
    PerformanceDetails,
    PolicySetting,
    Profile,
    Provenance,
    QualityGate,
    QueryResult,
    Report,
    RequirementResult,
    RequirementsDetails,
    Run,
    ScaleChange,
    Severity,
    StageResult,
    StaticDetails,
    Status,
    StepOrder,
    Suppression,
    TestOutcome,
    TestWarning,
    TraceSummary,
    Waiver,
)
from verifygate.model.check_report import CheckReport

TODAY = dt.date(2026, 11, 20)
HOSTILE = (
    "test_x[a|b\n| forged | **PASS** |\n<script>alert(1)</script>"
    " `@team` @team ](http://evil.example) \x1b[31m\u202e{{ 7 * 7 }}]"
)

CLIP = Finding(
    rule="AMP201",
    name="clip-before-unscale",
    path="demo/train_step.py",
    line=88,
    column=9,
    end_line=88,
    severity=Severity.CRITICAL,
    certainty=Certainty.CERTAIN,
    message="gradients of `model` are clipped while still multiplied by the scale: "
    "`clip_grad_norm_` runs before `scaler.unscale_(optimizer)`",
    fingerprint="3f2a9c1be07d44d0a1b2c3d4e5f60718",
    remedy="call `scaler.unscale_(optimizer)` before `clip_grad_norm_`",
    steps=(
        PathStep(path="demo/train_step.py", line=86, text="SCALE scaler.scale(loss)"),
        PathStep(path="demo/train_step.py", line=86, text="BACKWARD .backward()"),
        PathStep(path="demo/train_step.py", line=88, text="CLIP clip_grad_norm_(model.parameters(), 1.0)"),
        PathStep(path="demo/train_step.py", line=89, text="UNSCALE scaler.unscale_(optimizer)"),
    ),
    snippet="torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    symbol="Trainer.train_step",
    untested="no test executes `Trainer.train_step`",
)
KEYS = Finding(
    rule="AMP501",
    name="missing-key",
    path="demo/setup.py",
    line=31,
    column=5,
    end_line=31,
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    message="`env['train_data']` is read, and the dictionary that `setup` returns has no such key",
    fingerprint="77aa01d2c0ffee00112233445566778899",
    remedy="read `train_loader`",
    details=(
        Detail(label="expected keys", values=("device", "scaler", "train_loader")),
        Detail(label="missing keys", values=("train_data",)),
    ),
    snippet="print(len(env['train_data']))",
    symbol="main",
)
RECREATED = Finding(
    rule="AMP301",
    name="scaler-recreated",
    path="demo/a|b <img>.py",
    line=5,
    column=1,
    end_line=6,
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    message="a GradScaler is built inside the epoch loop | <b>its scale is lost</b> @team see https://evil.example",
    fingerprint="9900aabbccddeeff",
)


IMPACT = "Every step is clipped to `max_norm / scale`, 65,536 times too short."
BACKGROUND = Background(
    fingerprint=CLIP.fingerprint,
    excerpts=(
        Excerpt(
            path="demo/train_step.py",
            line=86,
            lines=(
                "    scaler.scale(loss).backward()",
                "",
                "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
                "    scaler.unscale_(optimizer)",
                "    scaler.step(optimizer)  # ```",
            ),
            marked=(88,),
        ),
        Excerpt(path="demo/loop.py", line=12, lines=("def fit(trainer):", "    trainer.train_step()"), marked=(13,)),
    ),
    diff="--- a/demo/train_step.py\n+++ b/demo/train_step.py\n@@ -88,2 +88,2 @@\n"
    "+    scaler.unscale_(optimizer)\n     torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
    "-    scaler.unscale_(optimizer)\n",
)


def evidence(
    name: str, kind: EvidenceClass, summary: str, path: str | None = None, line: int | None = None
) -> Evidence:
    return Evidence(id=f"E-{name}", kind=kind, summary=summary, path=path, line=line)


def execution() -> StageResult:
    tests = (
        *(
            TestOutcome(
                id=f"tests/test_amp.py::test_policy[{n}]",
                outcome="passed",
                path="tests/test_amp.py",
                line=12,
                seconds=0.01 * n,
            )
            for n in range(12)
        ),
        TestOutcome(
            id=f"tests/test_amp.py::{HOSTILE}",
            outcome="failed",
            reason="assert 1 == 2 | **PASS** |",
            path="tests/test_amp.py",
            line=40,
        ),
        TestOutcome(
            id="tests/test_amp.py::test_cuda",
            outcome="skipped",
            reason="CUDA not available",
            path="tests/test_amp.py",
            line=55,
        ),
        TestOutcome(
            id="tests/test_amp.py::test_known", outcome="xfailed", reason="issue 12", path="tests/test_amp.py", line=60
        ),
    )
    return StageResult(
        stage="execution",
        outcome=Outcome.COMPLETED,
        checks=(
            Check(
                id="execution.tests-pass",
                title="every test passes",
                status=Status.FAIL,
                weight=3,
                expected="no failed test",
                actual="1 failed of 15",
                evidence=(
                    evidence("execution-tests", EvidenceClass.EXECUTED, "1 test failed", "tests/test_amp.py", 40),
                ),
                remedy="run `pytest tests/test_amp.py` and repair what fails",
            ),
            Check(
                id="execution.required-tests",
                title="the required tests ran",
                status=Status.NOT_MEASURED,
                expected="`test_cuda` passes",
                actual="skipped: CUDA not available",
                remedy="run the gate on a machine with CUDA",
            ),
            Check(
                id="execution.session",
                title="the session ended in order",
                status=Status.PASS,
                expected="a finish",
                actual="a finish",
            ),
        ),
        environment={"platform": "linux", "python": "3.11.7", "torch": "2.13.0+cpu"},
        seconds=2.01,
        details=ExecutionDetails(
            command=("python", "-m", "pytest", "tests"),
            exit_code=1,
            tests=tests,
            deselected=2,
            collected=17,
            warnings=(
                TestWarning(
                    category="FutureWarning",
                    message="`torch.cuda.amp.autocast` is deprecated | x",
                    path="tests/test_amp.py",
                    line=3,
                    count=2,
                ),
            ),
            functions=(
                FunctionCoverage(
                    path="demo/train_step.py", symbol="Trainer.train_step", line=70, end_line=95, tests=()
                ),
                FunctionCoverage(
                    path="demo/policy.py",
                    symbol="choose",
                    line=4,
                    end_line=20,
                    tests=("tests/test_amp.py::test_policy[0]",),
                ),
            ),
            trace=TraceSummary(
                events=60,
                counts=(("autocast", 10), ("update", 10)),
                devices=("cuda float16",),
                steps=10,
                skipped=2,
                scale_min=16384.0,
                scale_max=65536.0,
                scale_last=16384.0,
                scales=tuple(
                    ScaleChange(scaler=1, step=step, scale=scale)
                    for step, scale in ((0, 65536.0), (1, 32768.0), (2, 16384.0))
                ),
                own=OwnEvents(
                    orders=(
                        StepOrder(
                            events=("autocast", "scale", "backward", "clip", "unscale", "step", "update"),
                            times=10,
                            path="demo/train_step.py",
                            line=90,
                        ),
                    )
                ),
            ),
            output_tail="::error::fake\n```\n# forged heading\n\x1b[32m100 passed\x1b[0m\n",
        ),
    )


def static() -> StageResult:
    return StageResult(
        stage="static",
        outcome=Outcome.COMPLETED,
        checks=(
            Check(
                id="static.AMP201",
                title="no clip before unscale",
                status=Status.FAIL,
                weight=2,
                expected="no finding",
                actual="1 finding",
                remedy="see the finding",
            ),
            Check(
                id="static.AMP202",
                title="no second unscale",
                status=Status.PASS,
                weight=2,
                expected="no finding",
                actual="no finding",
            ),
            Check(
                id="static.AMP216",
                title="losses are normalised",
                status=Status.FAIL,
                required=False,
                expected="no finding",
                actual="1 finding",
                remedy="divide by the window",
            ),
        ),
        findings=(CLIP, KEYS, RECREATED),
        seconds=0.42,
        details=StaticDetails(
            files_checked=3,
            constructs=(
                Construct(
                    kind=ConstructKind.GRAD_SCALER,
                    path="demo/train_step.py",
                    line=60,
                    symbol="Trainer.__init__",
                    text="GradScaler('cuda')",
                ),
                Construct(
                    kind=ConstructKind.AUTOCAST,
                    path="demo/train_step.py",
                    line=80,
                    symbol="Trainer.train_step",
                    text="autocast('cuda')",
                ),
            ),
            not_analysed=(NotAnalysed(path="demo/broken.py", reason="line 3: invalid syntax", mentions_amp=True),),
            not_followed=(
                NotFollowed(path="demo/train_step.py", line=90, reason="`getattr(self, name)()` is not resolved"),
            ),
            suppressions=(
                Suppression(
                    path="demo/setup.py", line=9, rule="AMP304", reason="", finding="scaler enabled for bfloat16"
                ),
            ),
            rules=("AMP201", "AMP202", "AMP216"),
        ),
    )


def performance() -> StageResult:
    speedup = Measurement(
        id="speedup.fp16",
        title="Speedup of fp16 over fp32",
        metric="speedup",
        unit="x",
        device="NVIDIA H200",
        status=Status.PASS,
        target=">= 1.5",
        value=1.7213,
        low=1.65,
        high=1.8,
        arms=(
            Arm(name="fp32", unit="s", samples=(0.01, 0.0104, 0.0099, 0.0101, 0.0102), n=5),
            Arm(name="fp16", unit="s", samples=(0.0059, 0.006, 0.0058, 0.0061, 0.0059), n=5),
        ),
        method="median of the paired ratios",
    )
    memory = Measurement(
        id="memory.fp16",
        title="Peak memory saved",
        metric="peak memory",
        unit="",
        device="cpu",
        status=Status.NOT_MEASURED,
        target=">= 0.4",
        reason="the CPU allocator keeps no peak; run `verifygate run --stage performance` on a machine with CUDA",
    )
    return StageResult(
        stage="performance",
        outcome=Outcome.COMPLETED,
        checks=(
            Check(
                id="performance.speedup",
                title="AMP is fast enough",
                status=Status.PASS,
                expected=">= 1.5",
                measurement="speedup.fp16",
                evidence=(evidence("speedup", EvidenceClass.MEASURED, "5 paired rounds"),),
            ),
            Check(
                id="performance.memory",
                title="AMP saves memory",
                status=Status.NOT_MEASURED,
                expected=">= 0.4",
                measurement="memory.fp16",
                remedy="measure on a machine with CUDA",
            ),
        ),
        measurements=(speedup, memory),
        seconds=31.5,
        details=PerformanceDetails(
            workload="demo.bench:build",
            protocol=(("Arms", "fp32 and fp16"), ("Order", "alternating"), ("TF32", "off in both")),
            answers=(
                HazardAnswer(
                    rule="PERF101",
                    path="demo/train_step.py",
                    line=90,
                    title="host-sync-in-loop",
                    answer="confirmed",
                    why="once in a step, 12.00% of its time",
                ),
            ),
            profiles=(
                profiled("fp32", 8_000_000),
                profiled("fp16", 4_500_000),
                Profile(arm="bf16", reason="no"),
            ),
            curves=(
                Curve(arm="fp32", loss=points((1, 2.3), (50, 0.9), (100, 0.2)), accuracy=points((100, 0.9))),
                Curve(
                    arm="fp16",
                    loss=points((1, 2.3), (50, 1.0), (100, 0.3)),
                    accuracy=points((100, 0.91)),
                    scale=points((1, 65536.0), (3, 32768.0), (100, 32768.0)),
                    skipped=(3,),
                ),
            ),
        ),
    )


def points(*pairs: tuple[int, float]) -> tuple[CurvePoint, ...]:
    return tuple(CurvePoint(step=step, value=value) for step, value in pairs)


def profiled(arm: str, activations: int) -> Profile:
    sizes = {"parameters": 400_000, "gradients": 400_000, "activations": activations}
    parts = tuple(MemoryPart.model_validate({"kind": kind, "bytes": n, "wide": n}) for kind, n in sizes.items())
    return Profile(
        arm=arm,
        device="cpu",
        anatomy=Anatomy(peak=sum(sizes.values()), at="sum", phase="the backward", parts=parts),
        operators=(OperatorTime(name="aten::mm", dtype="float32", calls=42, seconds=0.0177, share=0.3),),
        waits=(HostWait(path="demo/train_step.py", line=90, call="item()", count=1, seconds=0.0001),),
        growth=Growth(steps=1, bytes=(1000, 1000, 1000), storages=(10, 10, 10)),
    )


def requirements() -> StageResult:
    return StageResult(
        stage="requirements",
        outcome=Outcome.ERRORED,
        reason="`spec.yaml`: line 4: `sevrity` is not a key",
        seconds=0.01,
    )


def completed_requirements() -> StageResult:
    """The stage as it is when its specification can be read."""
    query = QueryResult(
        query="test `tests/test_amp.py::test_cuda`",
        status=Status.NOT_MEASURED,
        actual="skipped: CUDA not available",
        evidence=(evidence("AMP-03-1", EvidenceClass.EXECUTED, "the test skipped", "tests/test_amp.py", 55),),
    )
    needs = tuple(
        RequirementResult(
            id=f"AMP-0{n}",
            title=f"Requirement {n}",
            text="gradients are scaled | and *unscaled*",
            severity="critical",
            group=group,
            status=status,
            queries=(query,) if n == 3 else (),
            code=("demo/train_step.py:70 Trainer.train_step",) if n == 3 else (),
            tests=("tests/test_amp.py::test_cuda",) if n == 3 else (),
            measurements=("speedup.fp16",) if n == 1 else (),
            remedy="" if status is Status.PASS else "write the test",
        )
        for n, group, status in (
            (1, "acceptance", Status.PASS),
            (2, "business", Status.FAIL),
            (3, "edge-case", Status.NOT_MEASURED),
            (4, "data-integrity", Status.PARTIAL),
        )
    )
    return StageResult(
        stage="requirements",
        outcome=Outcome.COMPLETED,
        checks=(
            Check(
                id="requirements.AMP-04",
                title="parameters stay FP32",
                status=Status.PARTIAL,
                expected="all",
                actual="7 of 8",
                remedy="cast back",
            ),
        ),
        seconds=0.2,
        details=RequirementsDetails(
            spec="spec.yaml",
            requirements=needs,
            calculations=(
                Calculation(
                    title="Speedup",
                    formula="t(fp32) / t(fp16)",
                    inputs="medians",
                    expected=">= 1.5",
                    measurement="speedup.fp16",
                    status=Status.PASS,
                ),
            ),
            gates=(QualityGate(title="Verified", threshold="all", actual="1 of 4", status=Status.FAIL),),
            architecture_expected=("demo/train_step.py", "demo/missing.py"),
            architecture_actual=("demo/train_step.py", "demo/extra.py"),
            unknown_ids=("AMP-99",),
        ),
    )


WAIVERS = (
    Waiver(
        checks=("performance.memory",),
        reason="no CUDA runner before December",
        owner="ann",
        expires=dt.date(2026, 12, 31),
    ),
    Waiver(
        checks=("execution.required-tests",),
        reason="the runner | was broken",
        owner="bob",
        expires=dt.date(2026, 11, 1),
    ),
    Waiver(checks=("static.gone",), reason="old", owner="cid", expires=dt.date(2027, 1, 1)),
)


def report(stages: tuple[StageResult, ...] | None = None, waivers: tuple[Waiver, ...] = WAIVERS, **run: Any) -> Report:
    """The sample, judged; other stages or run values on request."""
    given = stages if stages is not None else (execution(), static(), performance(), requirements())
    judged = scoring.judge(given, VerdictSettings(), waivers, TODAY)
    return Report(
        project="demo",
        task="T035",
        version="v7",
        verdict=judged.verdict,
        score=judged.score,
        reasons=judged.reasons,
        stages=judged.stages,
        parts=judged.parts,
        waivers=judged.waivers,
        contradictions=(
            Contradiction(
                name="static-fault-not-seen-in-run",
                stages=("static", "execution"),
                text="AMP201 is certain by the source | and a recorded run <b>passed</b> here without the violation",
                stands="the finding",
                path=CLIP.path,
                line=CLIP.line,
            ),
        ),
        impacts=(Impact(rule="AMP201", text=IMPACT),),
        backgrounds=(BACKGROUND,),
        policy=(
            PolicySetting(key="verdict.block", value="critical", default="critical, high"),
            PolicySetting(key="static.select", value="all rules", default="all rules"),
        ),
        provenance=Provenance(
            tool_version="0.1.0",
            commit="6a1f2c3+changes",
            tree_digest="1" * 64,
            settings_digest="2" * 64,
            config="verifygate.toml",
            versions={"python": "3.11.7", "torch": "2.13.0+cpu"},
        ),
        run=Run(
            **{
                "command": "verifygate run --report-dir reports/latest",
                "started": "2026-11-20T17:00:00Z",
                "seconds": 34.0,
                **run,
            }
        ),
    )


def clean_report() -> Report:
    """A PASS: one stage ran, and the rest had nothing to go on."""
    stage = static().model_copy(update={"checks": static().checks[1:2], "findings": ()})
    idle = StageResult(
        stage="performance", outcome=Outcome.NOT_APPLICABLE, reason="not configured: set `[performance] workload`"
    )
    return report((stage, idle), ())


def check_report(*findings: Finding) -> CheckReport:
    found = findings or (CLIP, KEYS, RECREATED)
    return CheckReport(files_checked=3, findings=found, not_analysed=(), not_followed=())
