import torch
from trainer import Policy, Trainer, fit, train


def test_training(model, optimizer, loader, loss_fn):
    Trainer(model, optimizer, torch.bfloat16).train(loader, loss_fn)
    train(Policy(torch.bfloat16), model, loader, optimizer, loss_fn)
    fit(model, loader, optimizer, loss_fn, torch.bfloat16)
