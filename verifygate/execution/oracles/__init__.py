"""Ask the project's own training: is it the same for every loss scale, and does it survive an overflow?"""

from verifygate.execution.oracles.step import Examined, ask_the_oracles

__all__ = ["Examined", "ask_the_oracles"]
