"""The forms in which services write their keys."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections import Counter
from collections.abc import Callable
from math import log2
from typing import NamedTuple

ENOUGH_BITS = 3.0
"""Shannon entropy of the letters of a random key, at least, in bits per letter; hexadecimal ones reach 3.7."""


class Form(NamedTuple):
    """How a service writes its keys; group 1 is the secret part."""

    whose: str
    pattern: str
    hint: str
    """What stands in every such key, in small letters."""
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


FORMS = (
    Form("GitHub", r"\b(gh[pousr]_[A-Za-z0-9]{36})\b", "gh", _has_github_checksum, _has_github_checksum),
    Form("Hugging Face", r"\b(hf_[A-Za-z]{34})\b", "hf_"),
    Form("AWS", r"\b((?:AKIA|ASIA)[A-Z2-7]{16})\b", "ia"),
    Form("Google", r"\b(AIza[\w-]{35})\b", "aiza"),
    Form("OpenAI", r"\b(sk-[\w-]*T3BlbkFJ[\w-]{20,})", "t3blbkfj"),
    Form("Anthropic", r"\b(sk-ant-[\w-]{80,})", "sk-ant-"),
    Form("Slack", r"\b(xox[abpr]-\d{10,}-[\w-]{20,})", "xox"),
    Form("Weights & Biases", r"(?i)\bwandb(?:_api_key|\.login\(\s*key)\W{1,6}([0-9a-f]{40})\b", "wandb"),
    Form(
        "a private",
        r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+((?:[A-Za-z0-9+/=]+\s+){2,})-----END",
        "private key-----",
        _is_private_key,
        _is_private_key,
    ),
)


def is_example(secret: str) -> bool:
    """Whether nobody's random generator wrote it."""
    lowered = secret.lower()
    if "example" in lowered or "xxxx" in lowered or "1234567890" in lowered or "abcdefgh" in lowered:
        return True
    counts = Counter(secret)
    return -sum(number / len(secret) * log2(number / len(secret)) for number in counts.values()) < ENOUGH_BITS
