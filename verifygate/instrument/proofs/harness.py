"""Runs inside the subject's interpreter: run the jobs of a proof, those that want ranks in processes of their own.

Usage: python bootstrap.py proofs.harness JOBS.json RESULTS.json. A job is what verifygate.proof's Setting says, with
`source` and `name`; its result is what `training.run` returns. Imports torch and the standard library only, once for
all jobs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import ranks, training


def main(arguments: Sequence[str]) -> int:
    """Run every job; without torch, or without gloo where a job wants ranks, the results are one line that says so."""
    jobs_path, results_path = arguments
    try:
        import torch
        import torch._dynamo  # the first optimizer would load it, inside a measured run
    except ImportError as error:
        results: dict[str, Any] = {"missing": str(error)}
    else:
        torch.set_num_threads(1)
        jobs = json.loads(Path(jobs_path).read_text(encoding="utf-8"))
        results = all_of(jobs)
    Path(results_path).write_text(json.dumps(results), encoding="utf-8")
    return 0


def all_of(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """The results of the jobs, in their order; those that want ranks run together, in processes of their own."""
    shared = [job for job in jobs if job["ranks"] > 1]
    if shared and (lacking := ranks.lacking()):
        return {"no_ranks": lacking}
    together = iter(ranks.start(shared) if shared else ())
    return {"runs": [next(together) if job["ranks"] > 1 else _alone(job) for job in jobs]}


def _alone(job: dict[str, Any]) -> Any:
    """One job in this process. Accelerate keeps its first precision for the process, so it has to forget that."""
    if (accelerate := sys.modules.get("accelerate.state")) is not None:
        accelerate.AcceleratorState._reset_state(reset_partial_state=True)
        accelerate.GradientState._reset_state()
    return training.run(job)
