"""The forms in which services write their keys: those of a kept list, and our own."""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from math import log2
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_suffix(".json")
"""Made from the rules of gitleaks by `tests/report/secret_list.py`; it names its source, version and license."""
ENOUGH_BITS = 3.0
"""Shannon entropy of the letters of a random key, at least, in bits per letter; hexadecimal ones reach 3.7."""


class Form(NamedTuple):
    """How a service writes its keys; group 1 is the secret part."""

    whose: str
    pattern: str
    words: tuple[str, ...]
    """What stands in such a key or before it, in small letters: one of them in every one."""
    proves: Callable[[str], bool] = lambda _secret: False
    """Whether the text is surely such a key."""
    can_be: Callable[[str], bool] = lambda _secret: True
    bits: float = ENOUGH_BITS


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
        data = base64.b64decode(re.sub(r"\s|\\+n", "", block)[:64] + "==", validate=False)
    except (binascii.Error, ValueError):
        return False
    return data.startswith((b"\x30\x82", b"\x30\x81", b"\x30\x2e", b"\x30\x77", b"openssh-key-v1"))


_AFTER_NAME = r"[\w.-]{0,20}['\"]?\s{0,3}[=:,]\s{0,3}['\"]?"
_AWS_SECRET = r"((?-i:(?=[a-z/+]*[A-Z0-9])(?=[A-Z0-9/+]*[a-z])(?![0-9a-f]{40}))[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
OWN = (
    Form(
        "GitHub",
        r"(?<![A-Za-z0-9])(gh[pousr]_[A-Za-z0-9]{36})(?![A-Za-z0-9])",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        _has_github_checksum,
        _has_github_checksum,
    ),
    Form("Hugging Face", r"(?<![A-Za-z0-9])(hf_[A-Za-z]{34})(?![A-Za-z0-9])", ("hf_",)),
    Form("AWS secret", rf"(?i)aws{_AFTER_NAME}{_AWS_SECRET}", ("aws",), bits=4.0),
    Form("AWS secret", rf"(?i)secret_?access_?key\W{{1,20}}{_AWS_SECRET}", ("secret",), bits=4.0),
    Form("AWS session", r"(?i)session_?token\W{1,20}([A-Za-z0-9/+=]{100,})", ("session",)),
    Form("Google", r"(?<![A-Za-z0-9])(AIza[\w-]{35})(?![A-Za-z0-9])", ("aiza",)),
    Form("Google", r"(?<![A-Za-z0-9])(ya29\.[\w-]{20,}|GOCSPX-[\w-]{28})(?![A-Za-z0-9])", ("ya29.", "gocspx-")),
    Form("Google", r"private_key_id['\"\s:\\]{3,20}([0-9a-f]{40})(?![A-Za-z0-9])", ("private_key_id",)),
    Form("OpenAI", r"\b(sk-[\w-]*T3BlbkFJ[\w-]{20,})", ("t3blbkfj",)),
    Form("Anthropic", r"\b(sk-ant-[\w-]{80,})", ("sk-ant-",)),
    Form(
        "language model",
        r"(?<![A-Za-z0-9])(sk-(?:[a-z0-9]{2,8}-){0,2}(?=(?:[A-Za-z_]*[0-9]+[A-Za-z_]){3})[A-Za-z0-9_]{24,})(?![A-Za-z0-9])",
        ("sk-",),
        bits=3.5,
    ),
    Form("JSON Web Token", r"(?<![A-Za-z0-9])(eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)", ("eyj",)),
    Form("NVIDIA", r"(?<![A-Za-z0-9])(nvapi-[\w-]{40,})", ("nvapi-",)),
    Form("Replicate", r"(?<![A-Za-z0-9])(r8_[A-Za-z0-9]{37})(?![A-Za-z0-9])", ("r8_",)),
    Form(
        "xAI or Groq", r"(?<![A-Za-z0-9])(xai-[A-Za-z0-9]{60,}|gsk_[A-Za-z0-9]{40,})(?![A-Za-z0-9])", ("xai-", "gsk_")
    ),
    Form("Kaggle", r"(?<![A-Za-z0-9])(KGAT_[a-f0-9]{32})(?![A-Za-z0-9])", ("kgat_",)),
    Form("Docker", r"(?<![A-Za-z0-9])(dckr_(?:pat|oat)_[\w-]{24,})", ("dckr_",)),
    Form("Neptune", r"(?<![A-Za-z0-9])(eyJhcGlfYWRkcmVzcyI6[A-Za-z0-9+/]{40,}={0,2})", ("eyjhcglfywrkcmvzcyi6",)),
    Form("Comet", rf"(?i)comet{_AFTER_NAME}((?=[A-Za-z]*[0-9])[A-Za-z0-9]{{25}})(?![A-Za-z0-9])", ("comet",)),
    Form("Slack", r"(?<![A-Za-z0-9])(xox[abeoprs]-\d{8,}-[\w-]{18,})", ("xox",)),
    Form("Azure", r"(?<![A-Za-z0-9])([\w.~]{3}\dQ~[\w.~-]{31,34})(?![A-Za-z0-9])", ("q~",)),
    Form("Azure", r"(?i)accountkey\s?=\s?([A-Za-z0-9+/]{86}==)", ("accountkey",)),
    Form("Azure", r"(?i)[?&;]sig=([A-Za-z0-9%+/]{40,}(?:%3D|=)?)", ("sig=",)),
    Form(
        "Weights & Biases",
        r"(?i)wandb(?:[\w.]{0,12}key|\.login\(\s*key|[\w.]{0,12}token)\W{1,6}([0-9a-f]{40})(?![A-Za-z0-9])",
        ("wandb",),
    ),
    Form("Weights & Biases", r"(?<![A-Za-z0-9])(wandb_v\d_[A-Za-z0-9_]{40,})", ("wandb_v",)),
    Form(
        "a private",
        r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----(?:\s|\\+n)+((?:MI|MC4|MHc|b3Bl)(?:[A-Za-z0-9+/=]|\s|\\+n){30,})",
        ("private key-----",),
        _is_private_key,
        _is_private_key,
    ),
    Form(  # cut off behind its beginning, as pytest cuts what it lists
        "cut",
        r"(?<![A-Za-z0-9])((?:gh[pousr]_|github_pat_|glpat-|nvapi-|r8_|hf_|eyJ|AKIA|xox[abeoprs]-|sk-|AIza|dapi|KGAT_|"
        r"sk_live_|npm_|pypi-|dckr_|gsk_|xai-)(?=[\w.-]*[0-9])[\w.-]{6,}?)(?=\.\.\.|\u2026)",
        ("...", "\u2026"),
        can_be=lambda _secret: False,
        bits=2.0,
    ),
)


@functools.cache
def forms() -> tuple[Form, ...]:
    """All forms: our own, which may prove a key, before those of the list."""
    kept = json.loads(LIST.read_text(encoding="utf-8"))["forms"]
    return OWN + tuple(
        Form(each["id"].replace("-", " "), each["pattern"], tuple(each["words"]), bits=max(each["bits"], 2.0))
        for each in kept
    )


def found(text: str) -> Iterator[tuple[Form, re.Match[str]]]:
    """The keys in a text that somebody's random generator may have written, by the forms in their order.

    An expression is compiled where its words stand in a text for the first time.
    """
    lowered = text.lower()
    for form in forms():
        if any(word in lowered for word in form.words):
            for match in re.finditer(form.pattern, text):
                if not is_example(match[1], form.bits):
                    yield form, match


def is_example(secret: str, bits: float = ENOUGH_BITS) -> bool:
    """Whether nobody's random generator wrote it."""
    lowered = secret.lower()
    if "example" in lowered or "xxxx" in lowered or "1234567890" in lowered or "abcdefgh" in lowered:
        return True
    counts = Counter(secret)
    return -sum(number / len(secret) * log2(number / len(secret)) for number in counts.values()) < bits
