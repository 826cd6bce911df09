"""A secret stands in the tree.

## Why is this bad
Whoever can read the repository, a fork or an old clone has the secret, and taking it out of the newest commit does
not take it out of the history.

## Impact
The account behind the key is open to everybody who has ever cloned the repository.

## Example
```python
wandb.login(key="<40 hexadecimal digits>")
```
Use instead:
```python
wandb.login(key=os.environ["WANDB_API_KEY"])
```

## What is looked at
Every text file of the tree, for the forms that services give their keys: GitHub (the checksum in it has to be right),
Hugging Face, AWS, Google, OpenAI, Anthropic, Slack, Weights & Biases, private keys. Examples (one letter repeated,
`EXAMPLE`, `xxxx`) do not count. No report repeats a secret. *Certain* is what carries a checksum that is right, and a
private key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifygate.base.secret_forms import FORMS, is_example
from verifygate.model import Severity
from verifygate.security.rule import Hit, SecurityRule
from verifygate.security.tree import AuditedTree

RULE = SecurityRule(
    code="SEC104",
    name="secret-in-tree",
    severity=Severity.HIGH,
    summary="a secret stands in the tree",
    remedy="revoke it now, take it out of the tree, and read it from the environment or a secret store",
)


def check(tree: AuditedTree) -> Iterator[Hit]:
    for path, text in tree.texts.items():
        for form in FORMS:
            for match in re.finditer(form.pattern, text):
                secret = match[1]
                if not form.can_be(secret) or is_example(secret):
                    continue
                yield Hit(
                    path,
                    text.count("\n", 0, match.start(1)) + 1,
                    f"{form.whose} key of {len(secret)} characters",
                    certain=form.proves(secret),
                    shown=f"({form.whose} key, not shown)",
                )
