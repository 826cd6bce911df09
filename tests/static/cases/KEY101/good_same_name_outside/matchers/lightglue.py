import torch
from torch import nn


class LightGlue(nn.Module):
    def forward(self, data):
        with torch.autocast("cuda", enabled=False):
            return data["keypoints0"].float()
