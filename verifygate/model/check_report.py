"""What `verifygate check --format json` prints."""

from __future__ import annotations

from verifygate.base.records import record
from verifygate.model.finding import Finding
from verifygate.model.precision_contract import PrecisionContract
from verifygate.model.source_facts import LeftOut, NotAnalysed, NotFollowed

SCHEMA_VERSION = 1
"""Of this and of report.json."""


@record(kw_only=True, guarded=True)
class CheckReport:
    __pydantic_config__ = {"extra": "forbid"}

    schema_version: int = SCHEMA_VERSION
    files_checked: int
    findings: tuple[Finding, ...]
    not_analysed: tuple[NotAnalysed, ...]
    not_followed: tuple[NotFollowed, ...]
    left_out: tuple[LeftOut, ...] = ()
    """Sources that the configuration leaves out, or that git ignores and does not keep."""
    stood_before: int = 0
    """Findings that are not listed because they stood at the revision that `--since` names."""
    in_baseline: int = 0
    """Findings that are not listed because the baseline file holds them."""
    contract: PrecisionContract = PrecisionContract()
    """Who drives mixed precision, and the dtypes that are declared."""
    contract_changes: tuple[str, ...] = ()
    """What moved in the contracts of configurations since the revision that `--since` names."""
    fail_on: str = ""
    """The least that fails, as `--fail-on` names it; empty where every finding that is no note does."""
    folder: str = ""
    """The way from the root of the repository to the folder that paths are relative to; empty where they are one."""
