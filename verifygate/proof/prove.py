"""Run the examples of rules in one child process, judge what was seen, and print it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifygate import instrument
from verifygate.base.distribution import install
from verifygate.base.errors import UsageError, VerifygateError
from verifygate.base.lifeline import temporary_folder
from verifygate.base.regular_files import MAX_ANSWER_BYTES, read_regular
from verifygate.process.subject import Completed, Subject
from verifygate.proof.method import METHODS, Judgement

START = Path(instrument.__file__).with_name("bootstrap.py")
SECONDS = 120.0
SECONDS_EACH = 20.0
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Claim:
    """What a rule says of its two examples."""

    code: str
    name: str
    method: str
    """One of METHODS."""
    bad: str
    good: str


@dataclass(frozen=True)
class Proof:
    """What came of a claim."""

    claim: Claim
    judgement: Judgement
    problem: str = ""
    """Why nothing could be compared."""

    @property
    def proved(self) -> bool:
        return self.judgement.proved and not self.problem


def claim_from(code: str, name: str, method: str, example: str, instead: str) -> Claim:
    """The claim in two sections of a rule's documentation. Raises VerifygateError where there is no code in them."""
    blocks = [_BLOCK.search(section) for section in (example, instead)]
    if method not in METHODS or None in blocks:
        raise VerifygateError(f"{code} has no examples, or no method named `{method}`")
    bad, good = (block[1] for block in blocks if block)
    return Claim(code, name, method, bad, good)


def prove(claims: Sequence[Claim], interpreter: Path) -> list[Proof]:
    """Run all examples in one process of the interpreter. Raises UsageError where it has no torch."""
    jobs = [job for claim in claims for source in (claim.bad, claim.good) for job in _jobs(claim, source)]
    runs = iter(run_jobs(jobs, interpreter))
    proofs = []
    for claim in claims:
        count = len(METHODS[claim.method].settings)
        bad, good = ([next(runs) for _ in range(count)] for _ in range(2))
        proofs.append(_judged(claim, bad, good))
    return proofs


def _jobs(claim: Claim, source: str) -> list[dict[str, Any]]:
    side = "example" if source is claim.bad else "use instead"
    return [
        {"source": source, "name": f"{claim.code} {side}", **setting._asdict()}
        for setting in METHODS[claim.method].settings
    ]


def run_jobs(jobs: list[dict[str, Any]], interpreter: Path) -> list[dict[str, Any]]:
    """What the harness saw in each job, all in one process. Raises UsageError where the interpreter has no torch."""
    with temporary_folder() as folder:
        # The examples run in an empty folder: no module of the project can take the place of torch.
        asked, answer = Path(folder, "jobs.json"), Path(folder, "results.json")
        asked.write_text(json.dumps(jobs), encoding="utf-8")
        try:
            completed = Subject(Path(folder), interpreter).run(
                ["-P", str(START), "proofs.harness", str(asked), str(answer)],
                seconds=SECONDS + SECONDS_EACH * len(jobs),
            )
        except OSError as error:
            raise UsageError(
                f"the interpreter cannot be started: {error.strerror}", where=_shown(interpreter)
            ) from error
        try:
            results = json.loads(read_regular(answer, MAX_ANSWER_BYTES))
        except (OSError, ValueError) as error:
            raise VerifygateError(f"the examples did not finish: {_ending(completed)}") from error
    if "missing" in results:
        raise UsageError(
            "the proof needs torch, which this interpreter does not have",
            where=_shown(interpreter),
            remedy=f"{install('torch')}, or set `interpreter` in [execution]",
        )
    if "no_ranks" in results:
        raise UsageError(
            f"the proof needs two processes that train together over gloo, and {results['no_ranks']}",
            where=_shown(interpreter),
            remedy="use a build of torch with torch.distributed and gloo, as the one from PyPI is",
        )
    return list(results["runs"])


def _judged(claim: Claim, bad: list[dict[str, Any]], good: list[dict[str, Any]]) -> Proof:
    nothing = Judgement((), proved=False)
    for run in good:
        if run["error"]:
            return Proof(
                claim, nothing, f"what to use instead raises {run['error']['type']}: {run['error']['message']}"
            )
    judgement = METHODS[claim.method].judge
    if not claim.method.startswith("raised-error") and (
        raised := next((run["error"] for run in bad if run["error"]), None)
    ):
        return Proof(claim, nothing, f"the example raises {raised['type']}: {raised['message']}")
    return Proof(claim, judgement(bad, good))


def table(proof: Proof) -> str:
    """The proof for people: what was compared, the measured rows, the conclusion."""
    claim = proof.claim
    lines = [f"{claim.code} {claim.name}", f"Compared: {METHODS[claim.method].text}.", ""]
    if rows := proof.judgement.rows:
        whole = [("", "example", "use instead"), *rows]
        first, second = (max(len(row[column]) for row in whole) for column in (0, 1))
        lines += [f"{label:{first}}  {bad:{second}}  {good}".rstrip() for label, bad, good in whole]
        lines.append("")
    if proof.problem:
        lines.append(proof.problem)
    lines.append(f"{claim.code}: {'proved' if proof.proved else 'NOT PROVED'}")
    return "\n".join(lines)


def _ending(completed: Completed) -> str:
    last = completed.stderr_tail.strip().splitlines()[-1:]
    return ", ".join([completed.ending, *last])


def _shown(interpreter: Path) -> str:
    relative = os.path.relpath(interpreter)
    return str(interpreter) if relative.startswith("..") else relative
