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

import base64
import binascii
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from math import log2
from typing import NamedTuple

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
ENOUGH_BITS = 3.0
"""Shannon entropy of the letters of a random key, at least, in bits per letter; hexadecimal ones reach 3.7."""


class _Form(NamedTuple):
    """How a service writes its keys; group 1 is the secret part."""

    whose: str
    pattern: str
    proves: Callable[[str], bool] = lambda _secret: False
    """Whether the text is surely such a key."""
    can_be: Callable[[str], bool] = lambda _secret: True


def _has_github_checksum(token: str) -> bool:
    """Whether the last six letters are the CRC-32 of the thirty before, in base 62."""
    body, written = token[-36:-6], token[-6:]
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    value, made = zlib.crc32(body.encode()), ""
    while value:
        value, rest = divmod(value, 62)
        made = digits[rest] + made
    return made.rjust(6, "0") == written


def _is_private_key(block: str) -> bool:
    """Whether it decodes to the beginning of a key in DER, or of OpenSSH's own form."""
    try:
        data = base64.b64decode("".join(block.split())[:64] + "==", validate=False)
    except (binascii.Error, ValueError):
        return False
    return data.startswith((b"\x30\x82", b"\x30\x81", b"\x30\x2e", b"\x30\x77", b"openssh-key-v1"))


_FORMS = (
    _Form("GitHub", r"\b(gh[pousr]_[A-Za-z0-9]{36})\b", _has_github_checksum, _has_github_checksum),
    _Form("Hugging Face", r"\b(hf_[A-Za-z]{34})\b"),
    _Form("AWS", r"\b((?:AKIA|ASIA)[A-Z2-7]{16})\b"),
    _Form("Google", r"\b(AIza[\w-]{35})\b"),
    _Form("OpenAI", r"\b(sk-[\w-]*T3BlbkFJ[\w-]{20,})"),
    _Form("Anthropic", r"\b(sk-ant-[\w-]{80,})"),
    _Form("Slack", r"\b(xox[abpr]-\d{10,}-[\w-]{20,})"),
    _Form("Weights & Biases", r"(?i)\bwandb(?:_api_key|\.login\(\s*key)\W{1,6}([0-9a-f]{40})\b"),
    _Form(
        "a private",
        r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+((?:[A-Za-z0-9+/=]+\s+){2,})-----END",
        _is_private_key,
        _is_private_key,
    ),
)


def check(tree: AuditedTree) -> Iterator[Hit]:
    for path, text in tree.texts.items():
        for form in _FORMS:
            for match in re.finditer(form.pattern, text):
                secret = match[1]
                if not form.can_be(secret) or _is_example(secret):
                    continue
                yield Hit(
                    path,
                    text.count("\n", 0, match.start(1)) + 1,
                    f"{form.whose} key of {len(secret)} characters",
                    certain=form.proves(secret),
                    shown=f"({form.whose} key, not shown)",
                )


def _is_example(secret: str) -> bool:
    """Whether nobody's random generator wrote it."""
    lowered = secret.lower()
    if "example" in lowered or "xxxx" in lowered or "1234567890" in lowered or "abcdefgh" in lowered:
        return True
    counts = Counter(secret)
    return -sum(number / len(secret) * log2(number / len(secret)) for number in counts.values()) < ENOUGH_BITS
