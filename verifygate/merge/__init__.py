"""The merger: joins what the stages found, holds their results against each other, and lets the stricter side win.

It believes no stage. Places that are cited are looked up again, figures are worked out again from their samples, ids
that were asked for are compared with ids that were answered. Whatever cannot both hold is a contradiction.
"""

from verifygate.merge.examine import Examined, examined
from verifygate.merge.findings import merged
from verifygate.merge.inputs import Inputs
from verifygate.merge.report_consistency import faults, handed_in

__all__ = ["Examined", "Inputs", "examined", "faults", "handed_in", "merged"]
