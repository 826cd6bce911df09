import torch
from torch import nn
from torch.cuda.amp import autocast, custom_fwd


def train(model, images, device):
    with autocast():
        a = model(images.half())  # expect: AMP405
        b = model(images.to(device, dtype=torch.float16))  # expect: AMP405
    return a + b


class Distance(nn.Module):
    @custom_fwd(cast_inputs=torch.float16)  # expect: AMP405
    def forward(self, a, b):
        return (a - b).abs().sum()


def by_a_name(model, images, targets, l1_loss, in_half):
    with autocast():
        drawn = model(images)
        if in_half:
            drawn = drawn.half()  # expect: AMP405 likely
    with autocast(enabled=False):
        return l1_loss(drawn, targets)
