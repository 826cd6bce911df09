"""The loop over the batches, and one over those that are only looked at."""

from stepping import TrainStep
from torch.utils.data import DataLoader


def main(model, optimizer, data, log):
    take = TrainStep(model, optimizer)
    for batch in DataLoader(data, batch_size=8):
        log(take(batch))


def look(model, data, log):
    for batch in DataLoader(data, batch_size=8):
        log(model(batch).sum().item())
