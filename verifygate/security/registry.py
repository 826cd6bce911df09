"""The rules of this stage: every module below `rules/` is one."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from verifygate.base.errors import VerifygateError
from verifygate.security import rules
from verifygate.security.analysers import ANALYSERS
from verifygate.security.rule import LoadedRule, SecurityRule


@cache
def security_rules() -> dict[str, LoadedRule]:
    """Code -> rule, in order of code. Raises VerifygateError for a module that is no rule."""
    found: dict[str, LoadedRule] = {}
    of_analysers = [each.rule for each in ANALYSERS]
    for file in sorted(Path(rules.__path__[0]).glob("sec*.py")):
        module = importlib.import_module(f"{rules.__name__}.{file.stem}")
        record, check = getattr(module, "RULE", None), getattr(module, "check", None)
        is_checked = callable(check) or record in of_analysers
        if not isinstance(record, SecurityRule) or not is_checked or not module.__doc__:
            raise VerifygateError(f"{module.__name__} is not a rule: it needs a docstring, RULE and check()")
        found[record.code] = LoadedRule(record, module.__doc__, check)
    return dict(sorted(found.items()))
