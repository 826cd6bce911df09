"""Models of the same kinds that stay what they are where it matters."""

import torch
from torch import nn


class Decaying(nn.Module):
    def __init__(self, width, states):
        super().__init__()
        self.decay = nn.Parameter(torch.log(torch.arange(1, states + 1, dtype=torch.float32)))
        self.enter = nn.Linear(width, width)

    def forward(self, inputs, state):
        return torch.exp(-torch.exp(self.decay.float())) * state + self.enter(inputs).unsqueeze(-1)

    def _apply(self, function, recurse=True):
        kept = self.decay.data
        super()._apply(function, recurse)
        self.decay.data = kept.to(self.decay.device)
        return self


class Scaled(nn.Module):
    """One number in logarithms, as a temperature is."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.log(torch.tensor(14.0)))

    def forward(self, one, other):
        return self.scale.exp() * one @ other.t()


class Experts(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.choice = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList([nn.Linear(width, width) for _ in range(count)])

    def forward(self, inputs):
        weights, chosen = self.choice(inputs.float()).softmax(-1).topk(2)
        return sum(self.experts[int(number)](inputs) * weights[..., :1] for number in chosen[0])


class Classifier(nn.Module):
    """The greatest outputs of a last layer choose no layer."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])
        self.head = nn.Linear(8, 100)

    def forward(self, inputs):
        for layer in self.layers:
            inputs = layer(inputs)
        return self.head(inputs)

    @torch.no_grad()
    def best(self, inputs):
        return self.head(inputs).topk(5)


def cast_all():
    return Decaying(8, 16).half(), Scaled().half(), Classifier().to(torch.bfloat16)


def by_name():
    model = Experts(8, 4).bfloat16()
    model.choice.float()
    return model


def by_kind():
    model = Experts(8, 4)
    model.to(torch.bfloat16)
    for name, part in model.named_modules():
        if name == "choice":
            part.to(torch.float32)
    return model


def others_alone():
    model = Experts(8, 4)
    model.experts.bfloat16()
    return model
