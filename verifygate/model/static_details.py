"""What the static stage alone reports: AMP constructs, suppressions, and what it could not analyse."""

from __future__ import annotations

from typing import Literal

from verifygate.model.precision_contract import PrecisionContract
from verifygate.model.source_facts import Construct, LeftOut, NotAnalysed, NotFollowed, Suppression
from verifygate.model.stage_details import StageDetails


class StaticDetails(StageDetails):
    kind: Literal["static"] = "static"
    files_checked: int = 0
    constructs: tuple[Construct, ...] = ()
    not_analysed: tuple[NotAnalysed, ...] = ()
    not_followed: tuple[NotFollowed, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    """Sources that the configuration leaves out, or that git ignores and does not keep."""
    suppressions: tuple[Suppression, ...] = ()
    idle_suppressions: tuple[Suppression, ...] = ()
    """Those that silence nothing in the source, of rules that a run can show broken: it may be what they are for."""
    contract: PrecisionContract = PrecisionContract()
    """Who drives mixed precision, and the dtypes that are declared; `seen` is filled from the execution stage's run."""
    configurations: tuple[str, ...] = ()
    """Paths of the files that a framework trains by, where no source declares a precision: the contract is theirs."""
    rules: tuple[str, ...] = ()
    """Codes of the rules that ran."""
