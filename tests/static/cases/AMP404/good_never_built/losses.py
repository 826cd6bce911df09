import torch
from torch import nn


class Focal(nn.Module):
    def forward(self, logits, target):
        return nn.functional.binary_cross_entropy_with_logits(logits, target)


class OldCriterion(nn.Module):
    def forward(self, probabilities, target):
        return nn.functional.binary_cross_entropy(torch.sigmoid(probabilities), target)
