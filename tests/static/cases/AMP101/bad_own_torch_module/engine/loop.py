import torch

from engine.torch import seeded


def turn(model, batch):
    seeded(0)
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(batch)
        loss.backward()  # expect: AMP101
