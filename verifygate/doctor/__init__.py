"""Says before a run what it will find: nothing is judged, and no code of the project runs."""

from verifygate.doctor.answer import Answer, State
from verifygate.doctor.examine import examined

__all__ = ["Answer", "State", "examined"]
