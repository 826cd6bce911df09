"""What keeps or restores a scaler's state."""

from __future__ import annotations

HELD = """
import torch

def keep(model, optimizer, held, path):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": held["scaler"]}
    torch.save(state, path)
"""


def test_the_evidence_is_that_of_the_first_file(analysed):
    analysis = analysed(first=HELD, second=HELD)

    found = analysis.checkpoints.scaler_saved(frozenset({"second.py", "first.py"}))

    assert found is not None
    assert found.place.path == "first.py"
