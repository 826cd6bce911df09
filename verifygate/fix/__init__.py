"""Apply the fixes of rules, and prove each before it counts. libcst is loaded only where something is found.

The findings come in as data, and so does the scan that proves a fix: this package knows no stage.
"""

from verifygate.fix.apply import Repair, repaired
from verifygate.fix.assess import with_fixes
from verifygate.fix.fixers import FIXES
from verifygate.fix.prove import Scan
from verifygate.fix.proven import with_edits

__all__ = ["FIXES", "Repair", "Scan", "repaired", "with_edits", "with_fixes"]
