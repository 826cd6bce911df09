"""Results of the parts of a large tree, kept between runs: a changed file makes its own part anew, and no other.

They lie beside the answers of `check`, under the same rules: with the user, never in the audited tree, and each under
the digest of all that it rests on.
"""

from __future__ import annotations

import base64
import io
import pickle
from collections.abc import Iterator
from enum import Enum

from verifygate.base import answer_store
from verifygate.base.records import replace
from verifygate.check import answer_cache
from verifygate.sources.tree import Sources
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.part_analysis import Task

_SHELF = "parts"
_MOST = 2_000
"""Parts that are kept: a tree of many programs has a few hundred."""
_OF_RESULTS = tuple(f"verifygate.{name}." for name in ("model", "protocol", "rule_codes", "static.analysis_result"))


class KeptParts:
    """The results that this user has kept."""

    def __init__(self) -> None:
        self._program = answer_cache.program_digest()

    def key(self, part: Sources, task: Task) -> str:
        """The digest of all that the result of a part rests on."""
        return answer_cache.key_of(_question(part, task), part, self._program)

    def recall(self, key: str) -> AnalysisResult | None:
        """The result of that key; None where none is known that can be trusted."""
        known = answer_store.recall(key, _SHELF)
        if known is None:
            return None
        try:
            found = _Results(io.BytesIO(base64.b64decode(known.out[0]))).load()
        except (ValueError, TypeError, AttributeError, EOFError, IndexError, ImportError, pickle.UnpicklingError):
            return None
        return found if isinstance(found, AnalysisResult) else None

    def keep(self, key: str, result: AnalysisResult) -> None:
        """Keep a result. Where that cannot be, nothing is lost but time."""
        text = base64.b64encode(pickle.dumps(result, pickle.HIGHEST_PROTOCOL)).decode()
        answer_store.keep(key, answer_store.CheckOutput((text,), 0), _SHELF, _MOST)


class _Results(pickle.Unpickler):
    """Reads results, which are made of records and enumerations of a few modules and of nothing else."""

    def find_class(self, module: str, name: str) -> type:
        found = super().find_class(module, name) if f"{module}.".startswith(_OF_RESULTS) else None
        if not isinstance(found, type) or (found.__module__, found.__qualname__) != (module, name):
            raise pickle.UnpicklingError(f"{module}.{name} is no class of a result")
        if not issubclass(found, Enum) and not hasattr(found, "__dataclass_fields__"):
            raise pickle.UnpicklingError(f"{module}.{name} is neither a record nor an enumeration")
        return found


def _question(part: Sources, task: Task) -> Iterator[str]:
    yield "part"
    yield repr(replace(task, lets_go=False, known_as={}))  # the answer does not depend on what is let go of
    yield from sorted(map(repr, task.known_as.items()))
    yield from (f"{link.path}\0{link.twin}" for link in part.links)
