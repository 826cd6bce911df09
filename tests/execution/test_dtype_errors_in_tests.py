"""An error about dtypes that ends a test is explained as one that ends a probed run is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifygate.model import ExecutionDetails, StageResult

pytest.importorskip("torch")
FORWARD = (
    "model.py:13  self.head(h)",
    "h is bfloat16: `self.body(x)`, a Linear with float32 weights, computed in bfloat16 by autocast (model.py:12)",
    "head.weight is float32: parameter of a Linear",
    "no autocast region was open here; the run entered one before",
    "remedy: move this line into the autocast region, or leave it in float32: `.float()` on `h`",
)


def test_the_operands_and_the_cast(run_suite: Callable[..., StageResult]) -> None:
    result = run_suite("dtypes", coverage=False)
    assert isinstance(result.details, ExecutionDetails)
    found = {test.id.partition("::")[2]: test.dtype_error for test in result.details.tests}
    assert {name for name, error in found.items() if error is not None} == {
        "test_forward",
        "test_parts_in_half",
        "TestModel::test_forward",
        "test_a_line_that_draws",
    }
    outcomes = {test.id.partition("::")[2]: test.outcome for test in result.details.tests}
    assert outcomes["test_nothing_is_drawn_again"] == "passed"
    check = next(check for check in result.checks if check.id == "execution.tests-pass")
    dtypes = [each for each in check.evidence if ": dtypes: " in each.summary]
    told = {each.summary.partition(": ")[0].partition("::")[2]: each for each in dtypes}
    for name in ("test_forward", "TestModel::test_forward"):
        for words in FORWARD:
            assert words in told[name].summary, told[name].summary
        assert (told[name].path, told[name].line) == ("model.py", 13)
    assert "x is float32" in told["test_parts_in_half"].summary
    assert "cast with its module (test_model.py:14)" in told["test_parts_in_half"].summary
    assert "leave it in float32: `.float()` on `h`" in check.remedy
    assert "cast the input to the dtype of the weights" in check.remedy
