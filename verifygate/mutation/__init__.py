"""Break right AMP code one move at a time: who notices?

The code comes in as sources and constructs, and so do the witnesses: this package knows no stage.
"""

from verifygate.mutation.moves import Move, mutants_of
from verifygate.mutation.operators import OPERATORS

__all__ = ["OPERATORS", "Move", "mutants_of"]
