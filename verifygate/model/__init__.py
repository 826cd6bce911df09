"""The data model: frozen values that every stage produces and every report reads.

Each name is loaded with its module when somebody asks for it: `verifygate check` asks for findings alone, and never
waits for pydantic and for the models of the other stages.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verifygate.model.architecture import ArchitectureTrees as ArchitectureTrees
    from verifygate.model.architecture import Branch as Branch
    from verifygate.model.background import IN_FULL as IN_FULL
    from verifygate.model.background import Background as Background
    from verifygate.model.background import Excerpt as Excerpt
    from verifygate.model.background import Impact as Impact
    from verifygate.model.base import Model as Model
    from verifygate.model.base import Points as Points
    from verifygate.model.base import Volatile as Volatile
    from verifygate.model.check import Check as Check
    from verifygate.model.check import Evidence as Evidence
    from verifygate.model.check import EvidenceClass as EvidenceClass
    from verifygate.model.check import Status as Status
    from verifygate.model.check_report import SCHEMA_VERSION as SCHEMA_VERSION
    from verifygate.model.contradiction import Contradiction as Contradiction
    from verifygate.model.execution_details import EmulatedTest as EmulatedTest
    from verifygate.model.execution_details import ExecutionDetails as ExecutionDetails
    from verifygate.model.execution_details import FunctionCoverage as FunctionCoverage
    from verifygate.model.execution_details import NotEmulated as NotEmulated
    from verifygate.model.execution_details import TestOutcome as TestOutcome
    from verifygate.model.execution_details import TestWarning as TestWarning
    from verifygate.model.finding import Applicability as Applicability
    from verifygate.model.finding import Certainty as Certainty
    from verifygate.model.finding import Detail as Detail
    from verifygate.model.finding import Edit as Edit
    from verifygate.model.finding import Finding as Finding
    from verifygate.model.finding import PathStep as PathStep
    from verifygate.model.finding import Place as Place
    from verifygate.model.finding import Severity as Severity
    from verifygate.model.finding import Witness as Witness
    from verifygate.model.links import Coverage as Coverage
    from verifygate.model.links import Link as Link
    from verifygate.model.links import LinkState as LinkState
    from verifygate.model.links import MarkProblem as MarkProblem
    from verifygate.model.measurement import Arm as Arm
    from verifygate.model.measurement import Measurement as Measurement
    from verifygate.model.mutation import Mutant as Mutant
    from verifygate.model.mutation import MutationReport as MutationReport
    from verifygate.model.mutation import Sighting as Sighting
    from verifygate.model.performance_details import PerformanceDetails as PerformanceDetails
    from verifygate.model.policy import Advisory as Advisory
    from verifygate.model.policy import BaselineUse as BaselineUse
    from verifygate.model.policy import PolicyDifference as PolicyDifference
    from verifygate.model.policy import PolicyOrigin as PolicyOrigin
    from verifygate.model.policy import PolicySetting as PolicySetting
    from verifygate.model.policy import PolicyState as PolicyState
    from verifygate.model.policy import Waiver as Waiver
    from verifygate.model.policy import WaiverState as WaiverState
    from verifygate.model.policy import WaiverUse as WaiverUse
    from verifygate.model.profile import Anatomy as Anatomy
    from verifygate.model.profile import Curve as Curve
    from verifygate.model.profile import CurvePoint as CurvePoint
    from verifygate.model.profile import Growth as Growth
    from verifygate.model.profile import HazardAnswer as HazardAnswer
    from verifygate.model.profile import HostWait as HostWait
    from verifygate.model.profile import LineCost as LineCost
    from verifygate.model.profile import MemoryPart as MemoryPart
    from verifygate.model.profile import OperatorTime as OperatorTime
    from verifygate.model.profile import Profile as Profile
    from verifygate.model.profile import StepTime as StepTime
    from verifygate.model.program import Program as Program
    from verifygate.model.recorded_trace import EntryPrecision as EntryPrecision
    from verifygate.model.recorded_trace import Island as Island
    from verifygate.model.recorded_trace import LowPrecision as LowPrecision
    from verifygate.model.recorded_trace import OwnEvents as OwnEvents
    from verifygate.model.recorded_trace import RankSummary as RankSummary
    from verifygate.model.recorded_trace import ScaleChange as ScaleChange
    from verifygate.model.recorded_trace import StepOrder as StepOrder
    from verifygate.model.recorded_trace import TraceSummary as TraceSummary
    from verifygate.model.recorded_trace import Visit as Visit
    from verifygate.model.recorded_trace import WeightUpdates as WeightUpdates
    from verifygate.model.report import Changes as Changes
    from verifygate.model.report import Provenance as Provenance
    from verifygate.model.report import Reason as Reason
    from verifygate.model.report import Report as Report
    from verifygate.model.report import Run as Run
    from verifygate.model.requirements_details import Calculation as Calculation
    from verifygate.model.requirements_details import Deviation as Deviation
    from verifygate.model.requirements_details import ForeignFile as ForeignFile
    from verifygate.model.requirements_details import QualityGate as QualityGate
    from verifygate.model.requirements_details import QueryResult as QueryResult
    from verifygate.model.requirements_details import RequirementResult as RequirementResult
    from verifygate.model.requirements_details import RequirementsDetails as RequirementsDetails
    from verifygate.model.security_details import AnalyserRun as AnalyserRun
    from verifygate.model.security_details import SecurityDetails as SecurityDetails
    from verifygate.model.source_facts import Construct as Construct
    from verifygate.model.source_facts import ConstructKind as ConstructKind
    from verifygate.model.source_facts import LeftOut as LeftOut
    from verifygate.model.source_facts import NotAnalysed as NotAnalysed
    from verifygate.model.source_facts import NotFollowed as NotFollowed
    from verifygate.model.source_facts import Suppression as Suppression
    from verifygate.model.stage_details import StageDetails as StageDetails
    from verifygate.model.stage_result import ISOLATION as ISOLATION
    from verifygate.model.stage_result import ISOLATION_BY_DEFAULT as ISOLATION_BY_DEFAULT
    from verifygate.model.stage_result import Outcome as Outcome
    from verifygate.model.stage_result import ScorePart as ScorePart
    from verifygate.model.stage_result import StageResult as StageResult
    from verifygate.model.stage_result import Verdict as Verdict
    from verifygate.model.static_details import StaticDetails as StaticDetails

_NAMES = {
    "architecture": "ArchitectureTrees Branch",
    "background": "IN_FULL Background Excerpt Impact",
    "base": "Model Points Volatile",
    "check": "Check Evidence EvidenceClass Status",
    "check_report": "SCHEMA_VERSION",
    "contradiction": "Contradiction",
    "execution_details": "EmulatedTest ExecutionDetails FunctionCoverage NotEmulated TestOutcome TestWarning",
    "finding": "Applicability Certainty Detail Edit Finding PathStep Place Severity Witness",
    "links": "Coverage Link LinkState MarkProblem",
    "measurement": "Arm Measurement",
    "mutation": "Mutant MutationReport Sighting",
    "performance_details": "PerformanceDetails",
    "policy": (
        "Advisory BaselineUse PolicyDifference PolicyOrigin PolicySetting PolicyState Waiver WaiverState WaiverUse"
    ),
    "profile": (
        "Anatomy Curve CurvePoint Growth HazardAnswer HostWait LineCost MemoryPart OperatorTime Profile StepTime"
    ),
    "program": "Program",
    "report": "Changes Provenance Reason Report Run",
    "requirements_details": (
        "Calculation Deviation ForeignFile QualityGate QueryResult RequirementResult RequirementsDetails"
    ),
    "security_details": "AnalyserRun SecurityDetails",
    "source_facts": "Construct ConstructKind LeftOut NotAnalysed NotFollowed Suppression",
    "stage_result": "ISOLATION ISOLATION_BY_DEFAULT Outcome ScorePart StageResult Verdict",
    "stage_details": "StageDetails",
    "static_details": "StaticDetails",
    "recorded_trace": "EntryPrecision Island LowPrecision OwnEvents RankSummary ScaleChange StepOrder TraceSummary "
    "Visit WeightUpdates",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """The value behind a name of this package, from its own module. Raises AttributeError."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
