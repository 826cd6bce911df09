import torch
from torch.amp import GradScaler
from trainer import Handing, Spread
from trainer import Trainer as Training


def main(net, loader):
    training = Training(net, torch.optim.SGD(net.parameters()), GradScaler("cuda"))
    handing = Handing(net, torch.optim.SGD(net.parameters()), rate=0.2, growth=GradScaler("cuda"))
    parts = {"descent": torch.optim.SGD(net.parameters()), "growth": GradScaler("cuda")}
    spread = Spread(net, **parts)
    for batch in loader:
        training.one(batch)
        handing.one(batch)
        spread.one(batch)
