"""The inventory of AMP code: what is found under which kind."""

from __future__ import annotations

from verifygate.config.settings import StaticSettings
from verifygate.model import ConstructKind
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

FALLBACK = """\
import torch

try:
    from torch.cuda.amp import GradScaler
except ImportError:

    class GradScaler:
        def scale(self, loss):
            return loss


def main():
    return GradScaler()
"""


def test_a_scaler_that_an_old_torch_lacks_is_one() -> None:
    """One of two definitions of the name is torch's: the code is there, whichever of them a run has."""
    found = analyse(Sources([SourceFile("train.py", FALLBACK.encode())]), StaticSettings(select=("AMP201",))).constructs
    assert [(each.kind, each.line, each.callee) for each in found] == [
        (ConstructKind.GRAD_SCALER, 13, "torch.cuda.amp.GradScaler")
    ]
