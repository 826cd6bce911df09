import torch
import torch.nn.functional as F
from torch import nn

KNOWN = {}


def build(name):
    return KNOWN[name]()


class Head(nn.Module):
    def get_loss(self):
        return F.binary_cross_entropy(self.chances, self.targets)  # expect: AMP404 likely


class Detector(nn.Module):
    def __init__(self, head):
        super().__init__()
        self.head = head

    def forward(self, batch):
        self.head(batch)
        return self.head.get_loss()


KNOWN["detector"] = Detector
