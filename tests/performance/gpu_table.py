"""`make gpu`: on a CUDA machine matrix products, the gpu-marked tests, and reference_impl in two sizes, as tables.

    python tests/performance/gpu_table.py [--seconds 540] [--into build/gpu-result]

What is measured is written as it comes, so a run that is killed keeps what it has: `stages.jsonl`, `products.jsonl`,
and for each size `SIZE.comparison.json` and `SIZE.table.txt`, anew after each round. No test file is collected that has
no gpu-marked test, and nothing is fetched. A stage for which no time is left is NOT MEASURED.

Exit code 0 where every test and every target passes, 1 where one fails, was not measured, or no test ran.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from defusedxml import ElementTree

from verifygate.config.performance import PerformanceSettings, Targets
from verifygate.config.settings import Settings, load
from verifygate.model import Check, Profile, StageResult, Status
from verifygate.performance import arms, summarised
from verifygate.performance.attestation.making import file_name, measure, record_of
from verifygate.performance.attestation.statement import written
from verifygate.performance.baselines import peak_of
from verifygate.performance.comparison import Comparison, dumped
from verifygate.performance.profiling import profile
from verifygate.process.interpreter import subject_of
from verifygate.report.bench import HEAD, aligned, measured
from verifygate.report.escape import plain

ROOT = Path(__file__).resolve().parents[2]
Row = tuple[str, ...]
RECORDS = "reports/records"
FOLDERS = ("tests", "reference_impl/tests")
"""Where tests are."""
PRODUCTS = Path(__file__).with_name("matrix_products.py")
LARGE = {
    "workload": "reference_impl.workload:build_large",
    "rounds": 4,
    "rounds_max": 4,
    "steps": 4,
    "warmup": 1,
    "train_steps": 8,
    "seeds": (0,),
    "evaluations": 1,
    "targets": Targets(),
}
"""What differs where matrix products fill the step: no target, one seed, and few steps, which are long."""
LEAST_SECONDS = 20.0
"""With less left, a stage does not begin."""


@dataclass
class Run:
    """One run of all stages: its folder, and when it has to be over."""

    into: Path
    end: float
    stages: list[tuple[str, float, str]] = field(default_factory=list)
    """Name, seconds, and what came of it."""

    @property
    def left(self) -> float:
        return self.end - time.monotonic()

    def stage(self, name: str, work: Callable[[], str]) -> None:
        """Do one stage, and write down how long it took; whatever it raises is what came of it."""
        began = time.monotonic()
        if self.left < LEAST_SECONDS:
            came = f"{Status.NOT_MEASURED}: no time was left"
        else:
            try:
                came = work()
            except Exception as error:
                came = f"{Status.NOT_MEASURED}: {type(error).__name__}: {error}"
        self.stages.append((name, time.monotonic() - began, plain(came)))
        with (self.into / "stages.jsonl").open("a", encoding="utf-8") as file:
            told = {"stage": name, "seconds": round(self.stages[-1][1], 1), "came": came}
            file.write(json.dumps(told) + "\n")
        print(f"[{name}: {self.stages[-1][1]:.0f} s] {plain(came)}", flush=True)


def tests(junit: str) -> Iterator[Row]:
    """A row for each test of a JUnit file: FAIL with the first line of why, NOT MEASURED where it was skipped."""
    for case in ElementTree.fromstring(junit).iter("testcase"):
        status, told = Status.PASS, ""
        for kind, means in (("skipped", Status.NOT_MEASURED), ("failure", Status.FAIL), ("error", Status.FAIL)):
            if (found := case.find(kind)) is not None:
                lines = (found.get("message") or found.text or kind).strip().splitlines()
                status, told = means, lines[0] if lines else kind
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        yield plain(f"test {name}"), "passes", plain(told), "", "", str(status)


def check(found: Check) -> Row:
    """A row for a check; the measurement it rests on has its own."""
    required = "" if found.required else " (advice)"
    return plain(f"check {found.id}{required}"), plain(found.expected), plain(found.actual), "", "", str(found.status)


def table(junit: str, result: StageResult | None) -> tuple[str, int]:
    """The one table of everything, and the exit code. `result` is None where nothing could be measured."""
    ran = list(tests(junit))
    rows = [*ran]
    bad = any(row[-1] == Status.FAIL for row in ran) or all(row[-1] != Status.PASS for row in ran) or result is None
    if result is not None:
        rows += [check(each) for each in result.checks]
        rows += [measured(each) for each in result.measurements]
        fine = (Status.PASS, Status.NOT_APPLICABLE)
        bad = bad or any(each.required and each.status not in fine for each in result.checks)
    return "\n".join(aligned([HEAD, *rows])) + "\n", int(bad)


def marked(root: Path) -> list[str]:
    """The test files below a root that have a gpu-marked test, by name: nothing else has to be collected."""
    found = []
    for path in sorted(each for folder in FOLDERS for each in (root / folder).rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.gpu" in text and any(
            ast.unparse(mark) == "pytest.mark.gpu"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef)
            for mark in node.decorator_list
        ):
            found.append(path.relative_to(root).as_posix())
    return found


def run_tests(run: Run) -> str:
    """The gpu-marked tests, by file; pytest's options of the whole suite, and its plugins, are left out."""
    files = marked(ROOT)
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-o", "addopts=", "-p", "no:cacheprovider"]
    command += [f"--junitxml={run.into / 'tests.xml'}", *files]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, check=False, timeout=run.left)
    return f"{len(files)} files, pytest ended with {ended.returncode}"


def run_products(run: Run) -> str:
    """The matrix products, a line of the file for each precision as it comes."""
    file = run.into / "products.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        subprocess.run([sys.executable, str(PRODUCTS)], cwd=ROOT, stdout=lines, check=False, timeout=run.left)
    return f"{len(file.read_text(encoding='utf-8').splitlines())} precisions"


def products_table(folder: Path, device: str) -> str:
    """TFLOP/s of large matrix products, and their share of the peak."""
    file = folder / "products.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
    peak = peak_of(device)
    peaks = {} if peak is None else {"fp32": peak.ieee, "tf32": peak.tf32, "float8": peak.float8}
    lines = ["matrix products alone"]
    for row in rows:
        name, most = arms.NAMES[row["precision"]], peaks.get(row["precision"], peak.half if peak else None)
        if "reason" in row:
            lines.append(f"{name:8}{Status.NOT_MEASURED}: {plain(row['reason'])}")
        else:
            share = f"{row['tflops'] / most:.1%} of peak" if most else f"share of peak {Status.NOT_MEASURED}"
            lines.append(f"{name:8}{row['tflops']:.4g} TFLOP/s, {share} (size {row['size']})")
    return "\n".join(lines) + "\n"


def run_size(run: Run, settings: Settings, name: str, keep: Callable[[Comparison, StageResult], None]) -> str:
    """Measure one size and profile it. After each training and round what there is lies in the folder."""
    performance = settings.performance.model_copy(update={"seconds": min(settings.performance.seconds, run.left)})
    settings = settings.model_copy(update={"performance": performance})

    def so_far(comparison: Comparison, profiles: tuple[Profile, ...] = ()) -> None:
        _replaced(run.into / f"{name}.comparison.json", json.dumps(dumped(comparison)))
        _replaced(run.into / f"{name}.table.txt", arms.text(comparison, profiles))

    subject = subject_of(settings)
    found = measure(subject, settings, lambda text: print(text, file=sys.stderr, flush=True), so_far)
    if not found.complete:
        so_far(found.comparison)
        failed = next((str(arm.failure) for arm in found.comparison.arms if arm.failure), "nothing was measured")
        return f"{Status.NOT_MEASURED}: {failed}"
    record = written(record_of(found))
    (run.into / f"{name}.record.json").write_bytes(record)
    if name == "small":  # the settings of the gate: it judges this one
        judged = settings.root / RECORDS / file_name(found)
        judged.parent.mkdir(parents=True, exist_ok=True)
        judged.write_bytes(record)
    profiles: tuple[Profile, ...] = ()
    if performance.profile and run.left > LEAST_SECONDS:
        performance = performance.model_copy(update={"seconds": run.left})
        profiles = profile(subject, performance, found.comparison, (), lambda _text: None)
    so_far(found.comparison, profiles)
    keep(found.comparison, summarised(found.comparison, performance, profiles=profiles))
    return f"record {name}.record.json" + (f", also {RECORDS}/{file_name(found)}" if name == "small" else "")


def _replaced(path: Path, text: str) -> None:
    """Write a file as a whole: one that is killed meanwhile leaves what was there."""
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").replace(path)


def large(settings: Settings) -> Settings:
    """The settings for the large size."""
    how = {**settings.performance.model_dump(), **LARGE}
    return settings.model_copy(update={"performance": PerformanceSettings.model_validate(how)})


def main(arguments: list[str] | None = None) -> int:
    """Each stage to its end, whatever the others say; then the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=540.0, help="of all stages together")
    parser.add_argument("--into", type=Path, default=ROOT / "build/gpu-result", help="the folder for what is measured")
    asked = parser.parse_args(arguments)
    asked.into.mkdir(parents=True, exist_ok=True)
    run = Run(asked.into.resolve(), time.monotonic() + asked.seconds)
    os.chdir(ROOT)
    settings, results = load(None, ROOT), {}
    run.stage("products", lambda: run_products(run))
    run.stage("tests", lambda: run_tests(run))
    for name, how in {"small": settings, "large": large(settings)}.items():
        run.stage(
            name, lambda name=name, how=how: run_size(run, how, name, lambda *found: results.update({name: found}))
        )
    junit, small = run.into / "tests.xml", results.get("small")
    text, code = table(
        junit.read_text(encoding="utf-8") if junit.is_file() else "<testsuites/>", small[1] if small else None
    )
    device = small[0].host.device_name if small and small[0].host else ""
    parts = [products_table(run.into, device)]
    parts += [each.read_text(encoding="utf-8") for each in sorted(run.into.glob("*.table.txt"))]
    shown = "\n".join([*parts, text])
    _replaced(run.into / "all.txt", shown)
    print(f"\n{shown}", end="")
    return code


if __name__ == "__main__":
    sys.exit(main())
