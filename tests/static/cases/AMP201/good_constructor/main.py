import torch
from torch.amp import GradScaler
from trainer import Growing, Plain, Population


def main(net, loader):
    descent = torch.optim.SGD(net.parameters())
    plain, growing = Plain(net, descent, growth=GradScaler("cuda")), Growing(net, descent, growth=Population())
    for batch in loader:
        plain.one(batch)
        growing.one(batch)
