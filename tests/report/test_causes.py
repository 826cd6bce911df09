"""What blocks is told by cause: a check that fails at the line of another one is told with it."""

from __future__ import annotations

from verifygate.model import Reason
from verifygate.report.causes import causes, in_words


def reason(
    check: str, line: int | None, action: str, path: str = "train.py", condition: str = "check-failed"
) -> Reason:
    return Reason(condition=condition, stage="execution", text=check, path=path, line=line, action=action, check=check)


def test_what_fails_at_one_line_is_one_cause_and_so_is_what_one_remedy_mends():
    finding = Reason(condition="finding", stage="static", text="KEY101", path="train.py", line=9, finding="f" * 16)
    other = finding.model_copy(update={"text": "AMP201", "finding": "e" * 16})
    reasons = [
        finding,
        other,
        reason("execution.oracle-inf-injection", 9, "store the key 'a'"),
        reason("requirements.EDGE-04", 9, "store the key 'a'; mark a test"),
        reason("requirements.BUS-01", 3, "configure the performance stage", "spec.yaml", "not-measured"),
        reason("requirements.BUS-02", 4, "configure the performance stage", "spec.yaml", "not-measured"),
        reason("requirements.AMP-01", 3, "write `scaler.step(optimizer)`", "spec.yaml"),
    ]

    assert [(each.reason.text, each.also) for each in causes(reasons)] == [
        ("KEY101", ["execution.oracle-inf-injection", "requirements.EDGE-04"]),
        ("AMP201", []),  # a finding is always told
        ("requirements.BUS-01", ["requirements.BUS-02"]),
        ("requirements.AMP-01", []),
    ]
    assert (in_words(reasons), in_words(reasons[:2])) == (", of 4 causes", "")
