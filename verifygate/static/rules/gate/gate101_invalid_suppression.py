"""A suppression names no rule, an unknown rule, or no reason.

## What it does
Reports `# verifygate:` comments that do not have the form `# verifygate: ignore[AMP201] reason`.

## Impact
The comment suppresses nothing, and the finding that it was for still counts.

## Why is this bad
A blanket suppression hides every later finding on its line, and one without a reason cannot be reviewed. Such a comment
suppresses nothing.

## What happens at run time
Nothing.

## Example
```python
def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        loss_fn(model(inputs), targets).backward()  # verifygate: ignore
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
No fix: the rule and the reason are yours to give.

## What it cannot see
Nothing known.

## References
- `verifygate docs adopting`
"""

from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule

RULE = Rule(
    code="GATE101",
    name="invalid-suppression",
    severity=Severity.MEDIUM,
    summary="a suppression without a rule, with an unknown rule, or without a reason",
    remedy="write `# verifygate: ignore[CODE] reason`",
    words=("verifygate:",),
    no_proof="it is about a comment, which does nothing at run time",
)


def check(_analysis: Analysis) -> Iterable[Match]:
    """Nothing here: the engine judges the comments once all other rules have spoken."""
    return ()
