"""Analysers of others: run where they are installed, read as JSON, and judged. None of them is rewritten here.

They only read the tree. What they report is *likely* and never *certain*: they prove no path, and this gate has not
proven their patterns. One that is not installed, or fails, is NOT MEASURED.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifygate.base.counts import counted
from verifygate.base.lifeline import temporary_folder
from verifygate.model import Severity
from verifygate.security.rule import Hit, SecurityRule
from verifygate.security.rules import sec201_reported_by_bandit, sec202_known_vulnerability, sec203_reported_by_zizmor
from verifygate.security.tree import AuditedTree

SECONDS = 300.0
BANDIT_TESTS = "B102,B301,B302,B307,B323,B501,B506,B602,B605,B609"
"""`exec`, pickle, marshal, `eval`, unchecked certificates (two), unsafe YAML, three ways to a shell. Others are noise
in training code (asserts, `random`), or judged here with more knowledge (`torch.load`, hubs, secrets)."""
_SEVERITIES = {"high": Severity.HIGH, "medium": Severity.MEDIUM, "low": Severity.LOW}


class AnalyserFailedError(Exception):
    """It could not answer; the message says why in one line."""


@dataclass(frozen=True)
class Analyser:
    """A program that reads a tree and prints JSON."""

    name: str
    rule: SecurityRule
    has_something: Callable[[AuditedTree], bool]
    """Whether the tree holds what it is about."""
    run: Callable[[str, AuditedTree], Iterator[Hit]]
    """From the path of the program: what it reports. Raises AnalyserFailedError."""
    needs_network: bool = False


def program(name: str) -> str | None:
    """The analyser beside the interpreter that runs this, or on the path; None where it is not installed."""
    beside = Path(sys.executable).with_name(name)
    return os.fspath(beside) if beside.is_file() else shutil.which(name)


def _answer(command: list[str], tree: AuditedTree, usual: tuple[int, ...] = (0,)) -> Any:
    """What it prints, parsed. It runs in an empty folder, so that no file of the tree is its configuration."""
    keep = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "SSL_CERT_FILE")}
    with temporary_folder() as empty:
        try:
            ended = subprocess.run(command, cwd=empty, capture_output=True, timeout=SECONDS, check=False, env=keep)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AnalyserFailedError(f"it did not end: {type(error).__name__}") from None
    if ended.returncode not in usual:
        lines = ended.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise AnalyserFailedError(f"exit code {ended.returncode}: {lines[-1].replace(str(tree.root), '.')[:200]}")
    try:
        return json.loads(ended.stdout or b"null")
    except ValueError:
        raise AnalyserFailedError("what it printed is no JSON") from None


def _bandit(path: str, tree: AuditedTree) -> Iterator[Hit]:
    files = [module.file.path for module in tree.modules]
    symbols = {(each.file.path, call.node.lineno): call.symbol for each in tree.modules for call in each.calls}
    with temporary_folder() as folder:
        nothing = Path(folder, "empty.ini")
        nothing.write_text("[bandit]\n", encoding="utf-8")
        options = ["-q", "-f", "json", "--exit-zero", "-t", BANDIT_TESTS, "--ini", os.fspath(nothing)]
        for start in range(0, len(files), 500):  # a command line has an end
            named = [os.fspath(tree.root / each) for each in files[start : start + 500]]
            said = _answer([path, *options, "--", *named], tree)
            for each in said["results"]:
                place = Path(each["filename"]).relative_to(tree.root).as_posix(), each["line_number"]
                yield Hit(
                    *place,
                    f"{each['test_id']}: {' '.join(each['issue_text'].split())}",
                    certain=False,
                    severity=_SEVERITIES.get(each["issue_severity"].lower(), Severity.LOW),
                    symbol=symbols.get(place, ""),
                )


def _has_workflows(tree: AuditedTree) -> bool:
    return any(_is_workflow(path) for path in tree.texts)


def _is_workflow(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder == ".github/workflows" and name.endswith((".yml", ".yaml"))


def _zizmor(path: str, tree: AuditedTree) -> Iterator[Hit]:
    named = [os.fspath(tree.root / each) for each in tree.texts if _is_workflow(each)]
    command = [path, "--offline", "--no-config", "--no-exit-codes", "--no-progress", "--format", "json-v1", *named]
    same: dict[tuple[str, str], list[tuple[int, Any]]] = {}
    for each in _answer(command, tree):
        primary = next(at for at in each["locations"] if at["symbolic"]["kind"] == "Primary")
        where = Path(primary["symbolic"]["key"]["Local"]["verbatim_path"]).relative_to(tree.root).as_posix()
        said = each["determinations"]
        if not each["ignored"] and said["severity"] in ("High", "Medium") and said["confidence"] != "Low":
            line = primary["concrete"]["location"]["start_point"]["row"] + 1
            same.setdefault((where, each["ident"]), []).append((line, each))
    for (where, ident), all_of in same.items():
        line, first = min(all_of, key=lambda item: item[0])
        more = f", and at {counted(len(all_of) - 1, 'further place')} of this file" if len(all_of) > 1 else ""
        severity = _SEVERITIES[first["determinations"]["severity"].lower()]
        yield Hit(where, line, f"{ident}: {first['desc']}{more}", certain=False, severity=severity)


def _has_requirements(tree: AuditedTree) -> bool:
    return "requirements.txt" in tree.texts


def _pip_audit(path: str, tree: AuditedTree) -> Iterator[Hit]:
    file = tree.root / "requirements.txt"
    command = [path, "-r", os.fspath(file), "--no-deps", "--disable-pip", "-f", "json", "--progress-spinner", "off"]
    said = _answer(command, tree, (0, 1))
    lines = tree.texts["requirements.txt"].lower().splitlines()
    for package in said["dependencies"]:
        for known in package.get("vulns", ()):
            name = package["name"].lower()
            line = next((number for number, text in enumerate(lines, 1) if text.strip().startswith(name)), 1)
            fixed = f"; fixed in {', '.join(known['fix_versions'])}" if known["fix_versions"] else ""
            yield Hit(
                "requirements.txt",
                line,
                f"{package['name']} {package['version']} has the known vulnerability {known['id']}{fixed}",
                certain=False,
                severity=Severity.MEDIUM,
            )


ANALYSERS = (
    Analyser(
        name="bandit",
        rule=sec201_reported_by_bandit.RULE,
        has_something=lambda tree: bool(tree.modules),
        run=_bandit,
    ),
    Analyser(
        name="pip-audit",
        rule=sec202_known_vulnerability.RULE,
        has_something=_has_requirements,
        run=_pip_audit,
        needs_network=True,
    ),
    Analyser(
        name="zizmor",
        rule=sec203_reported_by_zizmor.RULE,
        has_something=_has_workflows,
        run=_zizmor,
    ),
)
