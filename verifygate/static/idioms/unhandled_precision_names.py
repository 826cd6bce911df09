"""A dtype and a scaler's switch that are worked out from the words of one setting, and leave a word to neither."""

from __future__ import annotations

from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.scaler_regions import Use
from verifygate.static.facts.setting_cases import Case
from verifygate.static.values.domain import Bound


def word_without_scaler(use: Use, region: WrittenRegion, analysis: Analysis) -> Case | None:
    """The word of a setting for which a region is on in float16 and the scaler that serves it is off."""
    dtype, enabled = region.region.dtype, use.scaler.enabled
    built = [
        (Bound(test, analysis.evaluator.root_frame(use.scaler.function)), holds)
        for test, holds in analysis.enclosing.conditions(use.scaler.call, use.scaler.function)
    ]
    if dtype is None or region.region.instead or (enabled is None and not built):
        return None
    cases = analysis.setting_cases
    switch = enabled if enabled is not None else built[0][0]
    for case in cases.of([dtype, switch]):
        scales = [cases.truth(each.expr, each.frame, case) is holds for each, holds in built]
        is_off = enabled is not None and cases.truth(enabled.expr, enabled.frame, case) is False
        never_built = any(cases.truth(each.expr, each.frame, case) is (not holds) for each, holds in built)
        if not (is_off and all(scales)) and not never_built:
            continue
        if cases.dtypes(dtype.expr, dtype.frame, case) == {Dtype.FLOAT16} and _is_on(region, case, analysis):
            return case
    return None


def _is_on(region: WrittenRegion, case: Case, analysis: Analysis) -> bool:
    """Whether a region is surely entered, and switched on, in a case."""
    cases, enabled = analysis.setting_cases, region.region.enabled
    if enabled is not None and cases.truth(enabled.expr, enabled.frame, case) is not True:
        return False
    frame = analysis.evaluator.root_frame(region.function)
    around = [(test, holds, frame) for test, holds in analysis.enclosing.conditions(region.context, region.function)]
    for call, home in region.region.made.calls if region.region.made is not None else ():
        around += [(test, holds, home) for test, holds in analysis.enclosing.conditions(call, home.function)]
    return all(cases.truth(test, home, case) is holds for test, holds, home in around)
