"""The requirements stage: traces a specification to code, tests and measurements that the other stages found."""

from verifygate.requirements.foreign import read_foreign
from verifygate.requirements.gates import gates_policy, quality_gates
from verifygate.requirements.lock import lock_path, read_lock
from verifygate.requirements.read import read_specification
from verifygate.requirements.spec import Specification
from verifygate.requirements.stage import RequirementsStage, gates_check
from verifygate.requirements.trace_matrix import hold_back_dependents

__all__ = [
    "RequirementsStage",
    "Specification",
    "gates_check",
    "gates_policy",
    "hold_back_dependents",
    "lock_path",
    "quality_gates",
    "read_foreign",
    "read_lock",
    "read_specification",
]
