"""Prove a rule on this machine: run its bad and its good example and show what differs.

The examples come in as text, so this package knows no rule; they run in a child process, all of them in one.
"""

from verifygate.proof.method import METHODS, Judgement
from verifygate.proof.prove import Claim, Proof, claim_from, prove, table

__all__ = ["METHODS", "Claim", "Judgement", "Proof", "claim_from", "prove", "table"]
