import torch
from loop import Trainer


def test_name():
    assert Trainer.__name__ == "Trainer"


def test_a_scaler_of_the_test_itself():
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.item() < 1.0
