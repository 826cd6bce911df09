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
Every text file of the tree and its name, for the forms that a hundred services give their keys: GitHub (the checksum
in it has to be right), GitLab, Hugging Face, AWS, Google, Azure, NVIDIA, OpenAI, Anthropic, Slack, Weights & Biases,
JSON Web Tokens, private keys and others; most are from the rules of gitleaks. Examples (one letter repeated,
`EXAMPLE`, `xxxx`) do not count. No report repeats a secret. *Certain* is what carries a checksum that is right, and a
private key.
"""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.base.secret_forms import found
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
        for where, name in ((text, ""), (path, " in the name of a file")):
            end = {0}  # of what was reported: one key may have several forms
            for form, match in sorted(found(where), key=lambda each: each[1].start(1)):
                secret = match[1]
                if not form.can_be(secret) or match.start(1) < max(end):
                    continue
                end.add(match.end(1))
                yield Hit(
                    path,
                    1 if name else text.count("\n", 0, match.start(1)) + 1,
                    f"{form.whose} key of {len(secret)} characters{name}",
                    certain=form.proves(secret),
                    shown=f"({form.whose} key, not shown)",
                )
