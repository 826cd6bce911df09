"""Make the list of forms of keys: `python tests/report/secret_list.py gitleaks.toml VERSION`.

gitleaks (MIT) keeps a rule for each service. Those are taken whose keys are known by their own letters, such as
`glpat-`; what is only known by the name that it is assigned to is left to `base/masking.py`. Its expressions are RE2's,
and meant for files of source: they are rewritten for Python's `re`, and for text of any kind around a key.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from verifygate.base.secret_forms import LIST

SOURCE = "https://github.com/gitleaks/gitleaks, config/gitleaks.toml"
LICENSE = """MIT License

Copyright (c) 2019 Zachary Rice

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
LEFT_OUT = {
    "azure-ad-client-secret": "our own form finds it in other text too",
    "curl-auth-header": "a command, not a key",
    "curl-auth-user": "a command, not a key",
    "facebook-access-token": "any long number and a bar",
    "github-app-token": "our own form knows its checksum",
    "github-oauth": "our own form knows its checksum",
    "github-pat": "our own form knows its checksum",
    "github-refresh-token": "our own form knows its checksum",
    "jwt": "our own form looks for `eyJ`; two letters stand in most texts",
    "jwt-base64": "letters that other base64 text begins with",
    "kubernetes-secret-yaml": "a document, not a key",
    "nuget-config-password": "a document, not a key",
    "private-key": "our own form proves that it is one",
    "sidekiq-sensitive-url": "the password of a URL, which is masked in any",
    "sourcegraph-access-token": "any forty hexadecimal digits, so every commit",
    "square-access-token": "four letters that base64 text may begin with",
    "twilio-api-key": "two letters before hexadecimal digits",
    "vault-service-token": "`s.` before any name of 24 letters",
    "freemius-secret-key": "an assignment",
}
_ASSIGNMENT = "(?:=|>|:{1,3}="
_END = re.compile(r"\(\?:\[(?:\\x60|\\s|[^\]])*\][^()]*\|\$[^()]*\)$|\(\?:\[\^[^\]]*\]\|\\z\)$|\\b$")


def forms(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rules that are taken, each with its name, its words, its expression and the bits that a random key has."""
    return [
        {
            "id": rule["id"],
            "words": sorted(rule["keywords"]),
            "pattern": apart(rewritten(rule["regex"]), min(rule["keywords"])),
            "bits": rule.get("entropy", 0),
        }
        for rule in rules
        if rule.get("regex") and _ASSIGNMENT not in rule["regex"] and rule["id"] not in LEFT_OUT
    ]


def apart(expression: str, word: str) -> str:
    """The expression, written so that it does not find itself: this list lies in a tree that is searched for keys."""
    if not re.search(expression, expression):
        return expression
    return expression.replace(word, f"{word[:1]}(?:){word[1:]}", 1)


def rewritten(expression: str) -> str:
    """The expression for Python's `re`, with the key as group 1, and with any text around it that is no part of it."""
    text = _END.sub("", expression)
    end = r"(?![A-Za-z0-9])" if text != expression else r"[\w-]*"
    flags = "(?i)" if text.startswith("(?i)") else ""
    text = text.removeprefix("(?i)").replace("[[:alnum:]]", "[A-Za-z0-9]")
    start = r"(?<![A-Za-z0-9])" if text.startswith(r"\b") else ""
    text = text.removeprefix(r"\b")
    while (at := text.find("(?i)")) >= 0:
        close = _end_of_group(text, at)
        text = f"{text[:at]}(?i:{text[at + 4 : close]}){text[close:]}"
    text = re.sub(r"(?<!\\)\((?!\?)", "(?:", text)
    return f"{flags}{start}({text}{end})"


def _end_of_group(text: str, at: int) -> int:
    """Where the group ends that `at` is in."""
    depth, inside, place = 0, False, at + 4
    while place < len(text):
        sign = text[place]
        if sign == "\\":
            place += 1
        elif inside:
            inside = sign != "]"
        elif sign == "[":
            inside = True
        elif sign in "()":
            depth += 1 if sign == "(" else -1
            if depth < 0:
                return place
        place += 1
    return place


def main(toml: str, version: str) -> None:
    """Write the list."""
    rules = tomllib.loads(Path(toml).read_text(encoding="utf-8"))["rules"]
    head = {"source": SOURCE, "version": version, "license": LICENSE}
    rows = ",\n".join(f"  {json.dumps(form)}" for form in forms(rules))
    LIST.write_text(f'{json.dumps(head, indent=1)[:-2]},\n "forms": [\n{rows}\n ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
