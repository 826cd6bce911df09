import torch


def test_norms(fabric, model, batch):
    fabric.backward(model(batch).mean())
    assert torch.linalg.vector_norm(model.weight.grad) > 0
