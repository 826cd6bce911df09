"""pytest-benchmark's JSON: what `pytest --benchmark-json` wrote is read, and what was measured here is written like it.

`pytest-benchmark compare` reads both. A pytest run times one test after the other, so a ratio of two of its benchmarks
is shown and meets no target: see `verifygate docs performance` on the order of arms.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, quantiles, stdev
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import read_regular
from verifygate.base.strict_json import MAX_BYTES, DocumentError, parsed
from verifygate.model import Arm, Measurement, Status
from verifygate.performance.comparison import BASE, HALF, TF32, ArmRecord, Comparison

VERSION = "4.0.0"
"""Of pytest-benchmark whose fields these are; later ones have the same."""
PRECISIONS = (BASE, TF32, *HALF)
REMEDY = "write it with `pytest --benchmark-only --benchmark-save-data --benchmark-json=FILE`"


class _Stats(BaseModel):
    model_config = ConfigDict(extra="ignore")

    data: tuple[float, ...] = ()


class _Benchmark(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: str
    fullname: str
    params: dict[str, Any] | None = None
    stats: _Stats


class _Document(BaseModel):
    model_config = ConfigDict(extra="ignore")

    machine_info: dict[str, Any]
    benchmarks: tuple[_Benchmark, ...]


@dataclass(frozen=True)
class Series:
    """The raw samples of one benchmark, in seconds."""

    name: str
    """Without the precision among its parameters: what the arms have in common."""
    precision: str
    """Empty where none of its parameters is one."""
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Benchmarks:
    """What one file holds."""

    path: str
    machine: str
    series: tuple[Series, ...]

    def measurements(self) -> Iterator[Measurement]:
        """For each benchmark in another precision than the fp32 one beside it: the medians' ratio, no target."""
        base = {each.name: each for each in self.series if each.precision == BASE}
        for each in self.series:
            if each.precision in ("", BASE) or each.name not in base:
                continue
            pair = (base[each.name], each)
            yield Measurement(
                id=f"benchmark.{each.name}.{each.precision}",
                title=f"{each.name} in pytest, {BASE} over {each.precision}",
                metric="speedup-in-pytest",
                unit="x",
                device=self.machine,
                status=Status.NOT_APPLICABLE,
                value=median(pair[0].seconds) / median(pair[1].seconds),
                arms=tuple(Arm(name=of.precision, unit="s", samples=of.seconds, n=len(of.seconds)) for of in pair),
                method=f"medians of the raw samples in {self.path}; in pytest arms run one after the other: no target",
            )


def read(root: Path, path: str) -> Benchmarks:
    """The benchmarks of a file below `root`. Raises UsageError where it is none, or keeps no raw samples."""
    try:
        data = read_regular(root / path, MAX_BYTES, tree=root)
        parsed(data)  # two values of one name are refused
        document = _Document.model_validate_json(data)
    except DocumentError as error:
        raise UsageError(f"is not JSON of pytest-benchmark: {error}", where=path, remedy=REMEDY) from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=path, remedy=REMEDY) from None
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        told = f"is not JSON of pytest-benchmark: `{'.'.join(map(str, problem['loc']))}`: {problem['msg']}"
        raise UsageError(told, where=path, remedy=REMEDY) from None
    for benchmark in document.benchmarks:
        if not benchmark.stats.data or not all(math.isfinite(each) and each > 0 for each in benchmark.stats.data):
            raise UsageError(f"`{benchmark.name}` has no raw samples (`stats.data`)", where=path, remedy=REMEDY)
    cpu = document.machine_info.get("cpu")
    machine = str(cpu.get("brand_raw", "")) if isinstance(cpu, dict) else ""
    return Benchmarks(path, machine or "unknown", tuple(_series(each) for each in document.benchmarks))


def _series(benchmark: _Benchmark) -> Series:
    params = {name: value for name, value in (benchmark.params or {}).items() if value not in PRECISIONS}
    found = [value for value in (benchmark.params or {}).values() if value in PRECISIONS]
    name = benchmark.name.partition("[")[0]
    rest = ",".join(f"{key}={value}" for key, value in sorted(params.items()))
    return Series(f"{name}[{rest}]" if rest else name, str(found[0]) if found else "", benchmark.stats.data)


def written(comparison: Comparison, when: str) -> str:
    """The comparison as pytest-benchmark would have written it; `when` is the time in ISO 8601."""
    host = comparison.host
    machine = {
        "node": "",
        "processor": "",
        "machine": host.platform if host else "",
        "python_version": host.python if host else "",
        "cpu": {"brand_raw": host.device_name if host else "unknown"},
        "torch": host.torch if host else "",
    }
    document = {
        "machine_info": machine,
        "commit_info": {},
        "benchmarks": [_benchmark(comparison, arm) for arm in comparison.arms if arm.rounds and not arm.failure],
        "datetime": when,
        "version": VERSION,
    }
    return json.dumps(document, indent=1) + "\n"


def _benchmark(comparison: Comparison, arm: ArmRecord) -> dict[str, Any]:
    name = f"step[{arm.name}]"
    return {
        "group": comparison.plan.workload,
        "name": name,
        "fullname": f"{comparison.plan.workload}::{name}",
        "params": {"precision": arm.name},
        "param": arm.name,
        "extra_info": {
            "effective": [block.effective for block in arm.rounds],
            "rounds": [len(block.seconds) for block in arm.rounds],
            "in turns": True,
        },
        "options": {"disable_gc": False, "timer": "perf_counter", "min_rounds": 1, "max_time": 0.0, "min_time": 0.0}
        | {"warmup": comparison.plan.warmup > 0},
        "stats": _stats(arm.step_seconds),
    }


def _stats(data: Sequence[float]) -> dict[str, Any]:
    low, middle, high = quantiles(data, n=4) if len(data) > 1 else (data[0],) * 3
    spread = stdev(data) if len(data) > 1 else 0.0
    return {
        "min": min(data),
        "max": max(data),
        "mean": fmean(data),
        "stddev": spread,
        "rounds": len(data),
        "median": middle,
        "iqr": high - low,
        "q1": low,
        "q3": high,
        "iqr_outliers": sum(not low - 1.5 * (high - low) <= each <= high + 1.5 * (high - low) for each in data),
        "stddev_outliers": sum(abs(each - fmean(data)) > spread for each in data),
        "outliers": "",
        "ld15iqr": min(data),
        "hd15iqr": max(data),
        "ops": 1 / fmean(data),
        "total": sum(data),
        "data": list(data),
        "iterations": 1,
    }
