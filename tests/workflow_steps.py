"""Run the `run:` steps of a workflow's job, or of a composite action, as a runner of GitHub Actions would.

Expressions are looked up in the contexts that a test gives (`github`, `inputs`), and steps write their outputs to
`GITHUB_OUTPUT`. Steps that use other actions are left out: what they would have done, a test does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")

BASH = shutil.which("bash") or "bash"
"""The runner's own; a step's PATH does not choose it."""


class Ended(NamedTuple):
    """How the steps ended: the exit code of the first that failed, what all of them said, and what they left."""

    code: int
    said: str
    outputs: Mapping[str, str]
    summary: str


class Runner(NamedTuple):
    """A machine that runs steps in `workspace`; `temp` is its folder for temporary files."""

    workspace: Path
    temp: Path
    contexts: Mapping[str, Any]
    environment: Mapping[str, str]

    def run(self, steps: Sequence[Mapping[str, Any]], *, inputs: Mapping[str, str] | None = None) -> Ended:
        """Run the steps in order; after one that failed only those with an `if` run, as `!cancelled()` has it."""
        self.temp.mkdir(parents=True, exist_ok=True)
        summary = self.temp / "summary.md"
        summary.write_text("", encoding="utf-8")
        results: dict[str, Any] = {}
        code, said, outputs = 0, "", {}
        for number, step in enumerate(steps):
            if "run" not in step or (code and "if" not in step):
                continue
            runner = {"temp": str(self.temp)}
            contexts = {**self.contexts, "inputs": inputs or {}, "steps": results, "runner": runner}
            written = self.temp / f"output-{number}"
            written.write_text("", encoding="utf-8")
            env = {name: _filled(str(value), contexts) for name, value in step.get("env", {}).items()}
            files = {"GITHUB_OUTPUT": str(written), "GITHUB_STEP_SUMMARY": str(summary)}
            ended = subprocess.run(
                [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.workspace / _filled(step.get("working-directory", "."), contexts),
                env={"PATH": os.environ["PATH"], "HOME": str(self.temp), **self.environment, **env, **files}
                | {
                    "RUNNER_TEMP": str(self.temp),
                    "GITHUB_WORKSPACE": str(self.workspace),
                    "GITHUB_ACTIONS": "true",
                    "CI": "true",
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            said += ended.stdout
            outputs = dict(_outputs(written.read_text(encoding="utf-8").splitlines()))
            if "id" in step:
                results[step["id"]] = {"outputs": outputs}
            code = code or ended.returncode
        return Ended(code, said, outputs, summary.read_text(encoding="utf-8"))


def _outputs(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """`name=value`, or `name<<END`, the lines of the value, and `END`."""
    rest = iter(lines)
    for line in rest:
        name, _, end = line.partition("<<")
        if end and "=" not in name:
            yield name, "\n".join(takewhile(lambda each, end=end: each != end, rest))
        else:
            name, _, value = line.partition("=")
            yield name, value


def _filled(text: str, contexts: Mapping[str, Any]) -> str:
    return _EXPRESSION.sub(lambda match: _looked_up(match[1], contexts), text)


def _looked_up(path: str, contexts: Mapping[str, Any]) -> str:
    """`github.event.before`: empty where the event has no such thing, as it is there."""
    value: Any = contexts
    for name in path.split("."):
        value = value.get(name, "") if isinstance(value, Mapping) else ""
    return str(value)


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    ended = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def commit(folder: Path, files: Mapping[str, str], message: str = "change") -> str:
    """Write the files and commit them; the commit's hash."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")
