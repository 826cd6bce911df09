"""JSON schemas of what verifygate writes, generated from the models so that they cannot drift from them.

`python tests/write_docs.py` writes them; a test fails where a file differs.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from itertools import pairwise
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from verifygate.model.check_report import CheckReport
from verifygate.model.claims import ClaimsReport
from verifygate.model.matrix_document import Matrix
from verifygate.model.probe_report import ProbeReport
from verifygate.model.report import Report
from verifygate.model.sweep_report import SweepReport

SCHEMAS: dict[str, type] = {
    "report.schema.json": Report,
    "check.schema.json": CheckReport,
    "claims.schema.json": ClaimsReport,
    "matrix.schema.json": Matrix,
    "probe.schema.json": ProbeReport,
    "sweep.schema.json": SweepReport,
}
"""File name -> the model it describes."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(model: type) -> str:
    """The schema of the model's JSON as it is written, as text that ends in a line end."""
    made = TypeAdapter(model).json_schema(mode="serialization", schema_generator=_WithDescriptions)
    return json.dumps({"$schema": _DIALECT, **made}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def field_docs(model: type) -> dict[str, str]:
    """The string below each field, read from the source of the class and of its base classes.

    `use_attribute_docstrings` of pydantic does the same when a class is made, and so costs 0.1 seconds at every start.
    """
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if not each.__module__.startswith("verifygate."):
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        for field, text in pairwise(definition.body if isinstance(definition, ast.ClassDef) else ()):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(meaning))):
                    found[name] = " ".join(meaning.split())
    return found


class _WithDescriptions(GenerateJsonSchema):
    """The string below a field becomes its description: an editor shows it."""

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        made = super().model_schema(schema)
        fields, said = schema["cls"].model_fields, field_docs(schema["cls"])
        for name, text in said.items():
            if name in fields and (shown := made.get("properties", {}).get(fields[name].alias or name)) is not None:
                shown["description"] = text
        return made
