"""The committed example report is what this version of the gate would write from its own report.json."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from verifygate.model import Report, Status, Verdict
from verifygate.report.formats import render
from verifygate.static.registry import load_rules

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "reports" / "reference_impl"
TEXT = (FOLDER / "report.json").read_text(encoding="utf-8")
REPORT = Report.from_json(TEXT)


def test_it_fits_the_schema():
    """`make reports` was run after the last change of a model."""
    schema = json.loads((ROOT / "verifygate/docs/schemas/report.schema.json").read_text(encoding="utf-8"))

    jsonschema.validate(json.loads(TEXT), schema)
    assert REPORT.to_json() == TEXT


def test_every_page_is_rendered_from_it():
    """`make reports` was run after the last change of a template: each page is a pure function of report.json."""
    pages = render(REPORT, "md", "../../")

    assert {path.name for path in FOLDER.iterdir()} == {*pages, "report.json"}
    for name, page in pages.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == page, name


def test_it_passes_with_every_rule_and_hides_nothing():
    """All rules ran, the verdict is PASS, and what no CUDA device measured says so."""
    checks = {check.id: check for stage in REPORT.stages for check in stage.checks}

    assert REPORT.verdict is Verdict.PASS
    assert {f"static.{code}" for code in load_rules()} <= set(checks)
    waived = {check for use in REPORT.waivers for check in use.waiver.checks}
    open_checks = {check.id for check in checks.values() if check.required and check.status is not Status.PASS}
    assert {check for check in open_checks if checks[check].status is not Status.NOT_APPLICABLE} == waived
