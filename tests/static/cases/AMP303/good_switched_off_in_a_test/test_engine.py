import argparse

import torch
from engine import Engine


def test_a_step_changes_the_weights():
    options = argparse.Namespace(**dict.fromkeys(["mixed_precision"], False))
    model = torch.nn.Linear(2, 2)
    before = model.weight.clone()
    engine = Engine(model, torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cpu", enabled=False), options)
    engine.step(torch.ones(3, 2))
    assert not torch.equal(before, model.weight)
