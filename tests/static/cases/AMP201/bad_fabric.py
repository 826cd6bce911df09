import torch
from lightning.fabric import Fabric


def train(model, optimizer, batches, settings):
    fabric = Fabric(precision=settings.precision)
    fabric.launch()
    model, optimizer = fabric.setup(model, optimizer)
    for batch in batches:
        optimizer.zero_grad()
        fabric.backward(model(batch).mean())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP201 likely
        optimizer.step()


def right(model, optimizer, batches, settings):
    fabric = Fabric(precision=settings.precision)
    for batch in batches:
        optimizer.zero_grad()
        fabric.backward(model(batch).mean())
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
