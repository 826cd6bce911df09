"""With which versions of torch, and of the frameworks that its examples import, the proof of each rule ran.

`proved_versions.json` is written by `make release-watch` and by nobody's hand: a row holds for the examples and the
method whose digest it has, so a changed example has no version until its proof ran again.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from verifygate.base.lifeline import temporary_folder
from verifygate.process.subject import Subject
from verifygate.proof import METHODS, Claim, claim_from, prove
from verifygate.static.registry import load_rules

FILE = Path(__file__).with_name("proved_versions.json")
_VERSIONS = """\
import importlib.metadata as m, json, sys
known = m.packages_distributions()
print(json.dumps({name: m.version(known[name][0]) for name in sys.argv[1:] if name in known}))
"""

Versions = dict[str, str]
"""Module -> the version of what brings it."""


def claims() -> dict[str, Claim]:
    """Code -> what is proved, for every rule that has a proof."""
    rules = (loaded for loaded in load_rules().values() if loaded.rule.proof)
    return {
        each.rule.code: claim_from(
            each.rule.code, each.rule.name, each.rule.proof, each.sections["Example"], each.sections["Use instead"]
        )
        for each in rules
    }


def digest(claim: Claim) -> str:
    """Of what is run and how it is judged."""
    text = json.dumps([claim.bad, claim.good, claim.method, METHODS[claim.method].settings])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def imported(claim: Claim) -> tuple[str, ...]:
    """The top-level modules that the two examples import, torch among them."""
    found = {"torch"}
    for node in ast.walk(ast.Module([*ast.parse(claim.bad).body, *ast.parse(claim.good).body], [])):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return tuple(sorted(found))


def versions(modules: Sequence[str], interpreter: Path) -> Versions:
    """Their versions under an interpreter, without builds (`+cpu`); modules of the standard library have none."""
    with temporary_folder() as folder:
        completed = Subject(Path(folder), interpreter).run(["-I", "-c", _VERSIONS, *modules], seconds=60)
        told = json.loads(completed.stdout_tail or "{}")
    return {name: Version(version).public for name, version in sorted(told.items())}


def kept() -> dict[str, dict[str, Any]]:
    """Code -> `of`, the digest of what was run, and `versions`, a list."""
    rows: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return rows


def proved_with(code: str, claim: Claim, rows: Mapping[str, Mapping[str, Any]]) -> list[Versions]:
    """The versions with which the proof ran, of its examples as they are now."""
    row = rows.get(code, {})
    return list(row["versions"]) if row.get("of") == digest(claim) else []


def run(interpreter: Path) -> tuple[dict[str, Versions], list[str]]:
    """Run every proof: code -> versions of those that hold, and a line for each that does not.

    Raises UsageError where the interpreter has no torch.
    """
    wanted = claims()
    proofs = prove(list(wanted.values()), interpreter)
    every = versions(sorted({name for claim in wanted.values() for name in imported(claim)}), interpreter)
    held, failed = {}, []
    for (code, claim), proof in zip(wanted.items(), proofs, strict=True):
        if proof.proved:
            held[code] = {name: every[name] for name in imported(claim) if name in every}
        else:
            failed.append(f"{code}: {proof.problem or 'the harm does not show'}")
    return held, failed


def written(held: Mapping[str, Versions]) -> str:
    """`proved_versions.json` with the proofs that ran now beside those of other versions that still hold."""
    before = kept() if FILE.exists() else {}
    rows: dict[str, dict[str, Any]] = {}
    for code, claim in claims().items():
        ran = proved_with(code, claim, before)
        ran += [held[code]] if code in held and held[code] not in ran else []
        if ran:
            rows[code] = {"of": digest(claim), "versions": sorted(ran, key=lambda each: Version(each["torch"]))}
    return json.dumps(rows, indent=1) + "\n"


def words(ran: Sequence[Versions]) -> str:
    """`torch 2.13.0, accelerate 1.15.0; torch 2.14.1`."""
    return "; ".join(
        ", ".join(f"{name} {each[name]}" for name in sorted(each, key=lambda name: (name != "torch", name)))
        for each in ran
    )
