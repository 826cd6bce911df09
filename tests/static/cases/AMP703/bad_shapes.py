"""Whole numbers in half precision, and models whose frequencies a cast rounds."""

import torch
from torch import nn

HALF = torch.float16


def positions(length):
    exact = torch.arange(4096, dtype=torch.bfloat16)  # expect: AMP703
    rounded = torch.arange(0, 4096).half()  # expect: AMP703
    places = torch.arange(length, dtype=HALF)  # expect: AMP703 likely
    return exact, rounded, places


def steps(count):
    times = torch.randint(0, 1000, (count,))
    order = torch.randperm(5000).to("cuda", torch.float16)  # expect: AMP703
    return times.to(torch.bfloat16) / 1000, order  # expect: AMP703


class Turned(nn.Module):
    def __init__(self, width):
        super().__init__()
        exponents = torch.arange(0, width, 2).float() / width
        rates = 1.0 / (10000.0**exponents)
        self.register_buffer("rates", rates, persistent=False)

    def forward(self, values):
        places = torch.arange(values.shape[1], device=values.device).float()
        turns = torch.outer(places, self.rates.float())
        return values[..., : turns.shape[-1]] * turns.cos()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])
        self.turned = Turned(16)

    def forward(self, values):
        for layer in self.layers:
            values = layer(values)
        return self.turned(values)


def build():
    model = Model()
    model.to(torch.bfloat16)  # expect: AMP703
    return model


def build_in_one():
    return Model().cuda().half()  # expect: AMP703


class Encoding(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 32)

    def forward(self, values):
        hidden = self.inner(values)
        return hidden * self.places(hidden)

    def places(self, hidden):
        return torch.arange(hidden.shape[-1], dtype=hidden.dtype)  # expect: AMP703 likely


def train(batches):
    model = Encoding()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
