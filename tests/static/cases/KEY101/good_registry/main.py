import torch
from kinds import KINDS


def main(model, batch, settings):
    with torch.autocast("cuda"):
        loss = model(batch)
    return loss if isinstance(settings, KINDS["LINEAR"]) else None
