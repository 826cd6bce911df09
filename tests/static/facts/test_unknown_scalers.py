"""A call that only a scaler has, on something that cannot be told, is a place that was not followed."""

from __future__ import annotations

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

LOOP = """
import torch

def train(model, optimizer, parts, batches):
    {made}
    for batch in batches:
        optimizer.zero_grad()
        {held}.scale(model(batch)).backward()
        {held}.unscale_(optimizer)
        {held}.step(optimizer)
        {held}.update()
"""


def gaps(text: str) -> list[tuple[int, str]]:
    result = analyse(Sources([SourceFile("train.py", text.encode())]), RuleSelection())
    return [(gap.line, gap.reason) for gap in result.not_followed if "cannot be told" in gap.reason]


def test_noted_once():
    held = "parts.get('amp')"
    (gap,) = gaps(LOOP.format(made="pass", held=held))

    assert gap == (8, f"what `{held}` is cannot be told: its part in the scaler's protocol is not checked")


@pytest.mark.parametrize(
    ("made", "held"),
    [
        ("amp = torch.amp.GradScaler()", "amp"),
        ("pass", "parts[0]"),  # its use says so
        ("pass", "parts.amp"),
        ("amp = Wrapper()", "amp"),  # a class of the project's own: what its methods do is known
    ],
)
def test_what_is_known_is_not_noted(made: str, held: str):
    wrapper = "\nclass Wrapper:\n    def unscale_(self, optimizer): pass\n    def scale(self, loss): return loss\n"

    assert not gaps(LOOP.format(made=made, held=held) + wrapper)
