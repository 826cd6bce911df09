"""Generate the part of the documentation that the code already says: commands, configuration, rules, JSON schemas.

`python tests/write_docs.py` writes it; a test fails when what is committed differs from what this makes. The page of a
rule is the docstring of its module: `rule_pages` makes files of them for the site, and none is committed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import accuracy_page
import commands_page
import fault_table
import sizes
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import verifygate
from verifygate.config import settings
from verifygate.model.schema import SCHEMAS, field_docs, json_schema
from verifygate.performance.attestation.statement import Statement
from verifygate.quality.qualification.kit import Kit
from verifygate.report.rule_pages import rule_modules
from verifygate.requirements import inherit
from verifygate.requirements.lock import Lock
from verifygate.requirements.spec import Requirement
from verifygate.security.registry import security_rules
from verifygate.security.rule import LoadedRule as LoadedSecurityRule
from verifygate.static.registry import load_rules
from verifygate.static.rule import LoadedRule

sys.path.insert(0, str(Path(__file__).parent / "releases"))
import proved_versions as proofs

DOCS = Path(verifygate.__file__).parent / "docs"

_CONFIG_HEAD = """\
# Configuration

Settings are read from `verifygate.toml` in the project's root, or from the same tables below `[tool.verifygate]` in
`pyproject.toml`. Every setting has a default; without a file, the sources, the tests and the interpreter are
discovered. An unknown key is an error, and so is a number in quotes. `verifygate init` writes a first file, whose first
line names the JSON schema to [editors](editors.md); `verifygate schema` prints it.
"""

_CATALOGUE_HEAD = """\
# The catalogue {name}: {title}

{count} requirements that come with verifygate. A specification includes them with `extends: {name}`, selects and
changes them with `select` and `override`, and adds its own; see [requirements.md](requirements.md). The queries that
verify a requirement are listed below it; `marked tests` are tests that carry its id.
"""


def pages() -> dict[str, str]:
    """Path below docs/ -> content, for every generated file."""
    found = {f"schemas/{name}": json_schema(model) for name, model in SCHEMAS.items()}
    found["schemas/config.schema.json"] = json_schema(settings.FileSettings)
    found["schemas/record.schema.json"] = json_schema(Statement)
    found["schemas/lock.schema.json"] = json_schema(Lock)
    found["schemas/qualification.schema.json"] = json_schema(Kit)
    found["config.md"] = config_page()
    found["commands.md"] = commands_page.page()
    found["rules.md"] = rules_page()
    found["faults.md"] = fault_table.page()
    found["accuracy.md"] = accuracy_page.page()
    for name in inherit.names():
        found[f"{name}.md"] = catalogue_page(name)
    return found


def rule_pages() -> dict[str, str]:
    """Code -> the page of every rule."""
    ran = proof_runs()
    found = {code: rule_page(loaded, ran.get(code, [])) for code, loaded in load_rules().items()}
    return found | {code: security_page(loaded) for code, loaded in security_rules().items()}


def security_page(loaded: LoadedSecurityRule) -> str:
    """One rule of the security stage: its record as a table, then its documentation."""
    rule = loaded.rule
    rows = {
        "Name": f"`{rule.name}`",
        "Severity": rule.severity.value,
        "Seen by": "the security stage",
        "Fix": "none",
        "Proof": "none: what it allows is somebody else's to do",
    }
    return f"# {rule.code}: {rule.name}\n\n{_record(rows)}\n\n{loaded.docs.strip()}\n"


def rule_page(loaded: LoadedRule, ran: Sequence[proofs.Versions]) -> str:
    """One rule: its record as a table, with the versions with which its proof `ran`, then its documentation."""
    rule = loaded.rule
    proof = f"`verifygate explain {rule.code} --prove`; ran with {proofs.words(ran) or 'nothing since it changed'}"
    rows = {
        "Name": f"`{rule.name}`",
        "Severity": rule.severity.value,
        "Seen by": ", ".join(rule.witnesses),
        "Fix": rule.fix.value if rule.fix else "none",
        "Since torch": rule.torch or "every version with torch.amp",
        "Proof": proof if rule.proof else f"none: {rule.no_proof}",
    }
    return f"# {rule.code}: {rule.name}\n\n{_record(rows)}\n\n{loaded.docs}\n"


def _record(rows: dict[str, str]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| {label} | {value} |" for label, value in rows.items())])


def proof_runs() -> dict[str, list[proofs.Versions]]:
    """Code -> the versions with which the proof of a rule ran, as it is now."""
    proved = proofs.kept()
    return {code: proofs.proved_with(code, claim, proved) for code, claim in proofs.claims().items()}


def rules_page() -> str:
    """All rules in one table."""
    records = [loaded.rule for loaded in load_rules().values()] + [each.rule for each in security_rules().values()]
    ran = {code: proofs.words(versions) for code, versions in proof_runs().items()}
    rows = [
        f"| [{rule.code}]({_source(rule.code)}) | `{rule.name}` | {rule.severity.value} | {rule.summary} "
        f"| {ran.get(rule.code) or 'no run'} |"
        for rule in records
    ]
    head = [
        "# Rules",
        "",
        "`verifygate explain CODE` prints the page of a rule; `verifygate rules` prints this list. The last column has",
        "the versions with which `verifygate explain CODE --prove` showed the harm on a CPU (`make release-watch`).",
        "",
    ]
    head += ["| Code | Name | Severity | What it is | Proof ran with |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def _source(code: str) -> str:
    """The module whose docstring is the page of a rule, as a link from `docs/`: the site replaces it by that page."""
    return f"../{rule_modules()[code].relative_to(DOCS.parent).as_posix()}"


def catalogue_page(name: str) -> str:
    """A catalogue of requirements: what each asks for, and by which queries it is verified."""
    file = inherit.catalogue(name)
    groups: dict[str, list[Requirement]] = {}
    for requirement in file.requirements:
        groups.setdefault(requirement.group, []).append(requirement)
    parts = [_CATALOGUE_HEAD.format(name=name, title=file.title, count=len(file.requirements))]
    for group, requirements in groups.items():
        parts.append(f"## {group.replace('-', ' ').capitalize()}\n")
        for each in requirements:
            asked = "\n".join(f"- {query.words}" for query in each.verify)
            about = f"{each.severity.value}, revision {each.revision}"
            parts.append(f"### {each.id}: {each.title}\n\n{each.text} ({about})\n\n{asked}\n")
    return "\n".join(parts)


def config_page() -> str:
    """Every table and key of the configuration, with type, default and meaning."""
    parts = [_CONFIG_HEAD]
    for name, field in settings.FileSettings.model_fields.items():
        if (model := _model(field.annotation)) is not None:
            parts.append(_table(model, f"[[{name}]]" if name == "waivers" else f"[{name}]"))
    return "\n".join(parts)


def _table(model: type[BaseModel], title: str) -> str:
    said = field_docs(model)
    rows, inner = [], []
    for name, field in model.model_fields.items():
        nested = _model(field.annotation)
        if nested is not None:
            path = f"{title.strip('[]')}.{name}"
            inner.append(_table(nested, f"[[{path}]]" if get_origin(field.annotation) is tuple else f"[{path}]"))
            continue
        meaning = said.get(name, "")
        rows.append(f"| `{field.alias or name}` | {_type(field.annotation)} | {_default(field)} | {meaning} |")
    head = [f"## `{title}`", "", "| Key | Type | Default | Meaning |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, "", *inner])


def _model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for inner in get_args(annotation) if (model := _model(inner)) is not None), None)


def _type(annotation: Any) -> str:
    origin, inner = get_origin(annotation), [each for each in get_args(annotation) if each is not Ellipsis]
    if origin is Literal:
        return "text"
    if origin is tuple:
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return f"table of {_type(inner[1])}"
    if origin in (Union, UnionType):
        return " or ".join(_type(each) for each in inner if each is not type(None))
    if origin is not None:
        return _type(inner[0])
    names = {str: "text", float: "number", int: "whole number", bool: "true or false"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)).lower())


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value in ("", (), None, {}):
        return "none"
    return f"`{json.dumps(value, default=str)}`"


def main() -> int:
    """Write every generated page."""
    made = pages()
    for name, text in made.items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    about = DOCS / "about.md"
    about.write_text(sizes.updated(about.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {len(made)} files below {DOCS.name}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
