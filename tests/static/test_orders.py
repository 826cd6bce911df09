"""The answer does not depend on the order in which files and rules are looked at: see orders.py."""

from __future__ import annotations

import pytest
from orders import FILE_ORDERS, RULE_ORDERS, backwards, differing, found_in, in_order

from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.analysis import Analysis
from verifygate.static.symbols.program import Program

LOSS = """
import torch
from torch import nn


class Loss(nn.Module):
    def forward(self, x):
        p = torch.sigmoid(x)
        return torch.log(p.clamp(min=1e-8))
"""
TRAINS = """
import torch
from loss import Loss


def train(model, optimizer, batches):
    loss_fn = Loss()
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(batch)).mean()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
FILES = {"loss.py": LOSS, "train_a.py": TRAINS, "train_b.py": TRAINS}


@pytest.fixture(scope="module")
def sources() -> Sources:
    """A loss, and two programs that compute it in a region of their own."""
    return Sources(SourceFile(path, text.encode()) for path, text in FILES.items())


@pytest.mark.parametrize("order", [*FILE_ORDERS, *RULE_ORDERS])
def test_the_answer_is_the_same_in_each_order(order: str, sources: Sources):
    expected = found_in(sources)

    assert {each.rule for each in expected} >= {"AMP201", "AMP402"}
    assert differing(sources, order, expected) == []


def test_the_files_are_looked_at_in_the_order_that_is_asked_for(sources: Sources):
    """Without this the test above could not fail."""
    with in_order(sources, "files backwards"):
        analysis = Analysis(Program(sources, dict.fromkeys(sorted(FILES))))

        assert [module.path for module in analysis.modules] == backwards(sorted(FILES))
        assert [file.path for file in sources] == backwards(sorted(FILES))

    assert [file.path for file in sources] == sorted(FILES)
