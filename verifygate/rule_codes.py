"""Codes of rules that other modules name and that are no `Violation`: those of other families, and a few of AMP.

A fix and an answer of the profiler are for one rule, and neither may import the rule itself.
"""

from __future__ import annotations

from enum import StrEnum


class Hazard(StrEnum):
    """Performance hazards."""

    HOST_SYNC_IN_LOOP = "PERF101"
    SYNCHRONIZE_IN_LOOP = "PERF102"
    EMPTY_CACHE_IN_LOOP = "PERF103"
    LOADER_WITHOUT_WORKERS = "PERF104"
    LOADER_WITHOUT_PINNED_MEMORY = "PERF105"
    BLOCKING_TRANSFER = "PERF106"
    PYTHON_BATCH_ASSEMBLY = "PERF107"
    LOADER_OPTIONS_INVALID = "PERF109"
    GRAPH_RETAINED = "PERF110"
    SCALE_READ_EACH_STEP = "PERF111"


class PrecisionConflict(StrEnum):
    """Rules about two places that set the precision, of which one may say more than another."""

    DELEGATED_PRECISION = "AMP503"
    CONTRADICTING_PRECISION = "AMP612"
    ARGUMENTS_CONTRADICT_DEEPSPEED = "AMP902"


class SuppressionProblem(StrEnum):
    """What is wrong with a comment that suppresses a rule."""

    INVALID_SUPPRESSION = "GATE101"
    UNUSED_SUPPRESSION = "GATE102"


class SecurityRisk(StrEnum):
    """Rules of the security stage; the last three are what analysers of others report."""

    UNSAFE_CHECKPOINT_LOAD = "SEC101"
    REMOTE_CODE = "SEC102"
    DOWNLOAD_AT_IMPORT = "SEC103"
    SECRET_IN_TREE = "SEC104"
    UNPINNED_DEPENDENCIES = "SEC105"
    BANDIT = "SEC201"
    PIP_AUDIT = "SEC202"
    ZIZMOR = "SEC203"


class Gap(StrEnum):
    """Rules under which something is listed that another module could not follow."""

    MISSING_KEY = "KEY101"
    LOW_PRECISION_WEIGHTS = "AMP701"


READ_OFF_ABSTRACT_RUNS = frozenset({"AMP701", "AMP702", "AMP703", "AMP707"})
"""The rules that an abstract run of the programs witnesses as well."""
ABSTRACT_RUN = "abstract run"
"""In place of a rule: the abstract run did not follow something, which takes nothing from what the rules say."""
