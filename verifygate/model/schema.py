"""JSON schemas of what verifygate writes, generated from the models so that they cannot drift from them.

`python -m verifygate.quality.docs` writes them; a test fails where a file differs.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from verifygate.model.check_report import CheckReport
from verifygate.model.claims import ClaimsReport
from verifygate.model.matrix import Matrix
from verifygate.model.probe_report import ProbeReport
from verifygate.model.report import Report

SCHEMAS: dict[str, type] = {
    "report.schema.json": Report,
    "check.schema.json": CheckReport,
    "claims.schema.json": ClaimsReport,
    "matrix.schema.json": Matrix,
    "probe.schema.json": ProbeReport,
}
"""File name -> the model it describes."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(model: type) -> str:
    """The schema of the model's JSON as it is written, as text that ends in a line end."""
    schema: dict[str, Any] = {"$schema": _DIALECT, **TypeAdapter(model).json_schema(mode="serialization")}
    return json.dumps(schema, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
