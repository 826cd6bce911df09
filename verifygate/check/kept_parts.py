"""Results of the parts of a large tree, kept between runs: a changed file makes its own part anew, and no other.

They lie beside the answers of `check`, under the same rules: with the user, never in the audited tree, and each under
the digest of all that it rests on.
"""

from __future__ import annotations

import base64
import io
import pickle
from collections.abc import Iterator

from verifygate.base.records import replace
from verifygate.check import answer_cache
from verifygate.sources.tree import Sources
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.part import Task

_SHELF = "parts"
_MOST = 2_000
"""Parts that are kept: a tree of many programs has a few hundred."""
_OWN = "verifygate."


class KeptParts:
    """The results that this user has kept."""

    def __init__(self) -> None:
        self._program = answer_cache.program_digest()

    def recall(self, part: Sources, task: Task) -> AnalysisResult | None:
        """The result of the same task on the same files; None where none is known that can be trusted."""
        known = answer_cache.recall(self.key(part, task), _SHELF)
        if known is None:
            return None
        try:
            found = _Results(io.BytesIO(base64.b64decode(known.out[0]))).load()
        except (ValueError, TypeError, AttributeError, EOFError, IndexError, ImportError, pickle.UnpicklingError):
            return None
        return found if isinstance(found, AnalysisResult) else None

    def keep(self, part: Sources, task: Task, result: AnalysisResult) -> None:
        """Keep a result. Where that cannot be, nothing is lost but time."""
        text = base64.b64encode(pickle.dumps(result, pickle.HIGHEST_PROTOCOL)).decode()
        answer_cache.keep(self.key(part, task), answer_cache.CheckOutput((text,), 0), _SHELF, _MOST)

    def key(self, part: Sources, task: Task) -> str:
        """The digest of all that the result of a part rests on."""
        return answer_cache.key_of(_question(part, task), part, self._program)


class _Results(pickle.Unpickler):
    """Reads results, which are made of records and enumerations of this program and of nothing else."""

    def find_class(self, module: str, name: str) -> type:
        found = super().find_class(module, name) if module.startswith(_OWN) else None
        if not isinstance(found, type):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a result")
        return found


def _question(part: Sources, task: Task) -> Iterator[str]:
    yield "part"
    yield repr(replace(task, lets_go=False, known_as={}))  # the answer does not depend on what is let go of
    yield from sorted(map(repr, task.known_as.items()))
    yield from (f"{link.path}\0{link.twin}" for link in part.links)
