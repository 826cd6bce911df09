"""What keeps or restores a scaler's state: the same evidence, in whatever order the files of a program come."""

from __future__ import annotations

HELD = """
import torch

def keep(model, optimizer, held, path):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": held["scaler"]}
    torch.save(state, path)
"""


def test_the_evidence_does_not_depend_on_the_order_of_the_files(analysed):
    analysis = analysed(first=HELD, second=HELD)

    found = [
        analysis.checkpoints.scaler_saved(paths) for paths in (["first.py", "second.py"], ["second.py", "first.py"])
    ]

    assert [each.place.path for each in found if each is not None] == ["first.py", "first.py"]
