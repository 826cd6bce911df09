"""A suppression silences nothing.

## What it does
Reports `# verifygate: ignore[CODE] reason` where the rule has no finding.

## Impact
None today: the next finding on that line would be hidden.

## Why is this bad
The code was fixed, or the comment stands on the wrong line. Either way it would hide the next finding there.

## What happens at run time
Nothing.

## Example
```python
def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        loss_fn(model(inputs), targets).backward()  # verifygate: ignore[AMP216] it accumulated once
        optimizer.step()
```

## Use instead
```python
def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
```

## Fix safety
Unsafe: the comment is taken out, or the one rule from its list. A run on some files only may not see a finding that
another file brings about, and the comment is there for.

## What it cannot see
Rules that the configuration switches off are not judged. A rule that a recorded run can show broken where the source
shows nothing is not judged either: such a comment is listed in the static report, with what it silences of the run. An
unused `noqa` is left to the tool it is for.

## References
- `verifygate docs adopting`
"""

from collections.abc import Iterable

from verifygate.model import Applicability, Severity
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule

RULE = Rule(
    code="GATE102",
    name="unused-suppression",
    severity=Severity.LOW,
    summary="a suppression that silences nothing",
    remedy="remove the comment",
    words=("verifygate:",),
    fix=Applicability.UNSAFE,
    no_proof="it is about a comment, which does nothing at run time",
)


def check(_analysis: Analysis) -> Iterable[Match]:
    """Nothing here: the engine judges the comments once all other rules have spoken."""
    return ()
