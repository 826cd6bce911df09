"""Fingerprints: the identity of a finding without its line, so that a report recognises it after the code has moved."""

from __future__ import annotations

from verifygate.base.digests import digest_of


class Fingerprints:
    """Fingerprints of the findings of one stage, which tells findings of one identity apart by counting them.

    An identity is made of what the finding is about: the rule, the file, the function, the text of the statement.
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def next(self, *identity: str) -> str:
        """The fingerprint of one more finding with this identity: 24 hexadecimal digits."""
        text = "\0".join(identity)
        count = self._seen[text] = self._seen.get(text, -1) + 1
        return fingerprint(text, str(count))


def fingerprint(*identity: str) -> str:
    """The fingerprint of a finding whose identity no other finding of a report has."""
    return digest_of("\0".join(identity))[:24]
