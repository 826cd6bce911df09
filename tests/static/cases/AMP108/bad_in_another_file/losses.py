import torch
import torch.nn.functional as F
from torch import nn


class Contrast(nn.Module):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature

    def forward(self, features, labels):
        with torch.autocast("cuda", enabled=False):  # expect: AMP108 likely
            scores = torch.matmul(features, features.t()) / self.temperature
            return F.cross_entropy(scores, labels)


def entropy(logits):
    with torch.autocast("cuda", enabled=False):  # expect: AMP108 likely
        return -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()


def softened(student, teacher, temperature):
    with torch.autocast("cuda", enabled=False):  # expect: AMP108 likely
        return F.kl_div(F.log_softmax(student / temperature, 1), F.softmax(teacher / temperature, 1))
