"""The two predicate types that a verdict is stated in, and the names that both sides of a statement use.

Fields are those of in-toto's predicates test-result and svr (Simple Verification Result), both of version 0.1. What
these have no field for stands in the extension field `verifygate`, which a consumer may ignore.
"""

from __future__ import annotations

from enum import StrEnum


class PredicateType(StrEnum):
    """What a statement can be made as: the name on the command line, and its type URI."""

    TEST_RESULT = "test-result"
    SVR = "svr"

    @property
    def uri(self) -> str:
        return f"https://in-toto.io/attestation/{self.value}/v0.1"


class Result(StrEnum):
    """The result of a test-result predicate."""

    PASSED = "PASSED"
    """The verdict is PASS, and it is about the files of one commit."""
    WARNED = "WARNED"
    """Nothing stops the change, but this is no PASS of a commit: advisory mode, or files that are in no commit."""
    FAILED = "FAILED"
    """The verdict is BLOCK."""


PASS_PROPERTY = "VERIFYGATE_PASS"
ALL_STAGES = "VERIFYGATE_ALL_STAGES"
NO_WAIVER = "VERIFYGATE_NO_WAIVER"
POLICY_OF_BASE = "VERIFYGATE_POLICY_OF_BASE"
STAGE_PREFIX = "VERIFYGATE_STAGE_"
EXTENSION = "verifygate"
SETTINGS, BASE, POLICY = "verifygate:settings", "verifygate:base", "verifygate:policy"
"""Names of what is among the configuration and is no file."""
