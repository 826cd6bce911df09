"""Numbers that half precision holds, float32 tables, and frequencies that are worked out anew."""

import torch
from torch import nn


def few(width):
    small = torch.arange(64, dtype=torch.bfloat16)
    larger = torch.arange(2048, dtype=torch.float16)
    exponents = torch.arange(0, width, 2, dtype=torch.bfloat16)
    between = torch.linspace(0, 1, 5000, dtype=torch.bfloat16)
    bits = torch.randint(0, 2, (5000,)).half()
    return small, larger, exponents, between, bits


def exact(length, hidden):
    places = torch.arange(length, dtype=torch.float32)
    fractions = (torch.arange(4096) / 4096).to(torch.bfloat16)
    whole = torch.arange(4096, device=hidden.device)
    return places, fractions, whole, torch.arange(length, dtype=hidden.dtype)


class Anew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.register_buffer("rates", 1.0 / 10000 ** (torch.arange(0, width, 2) / width))

    def forward(self, values):
        self.rates = 1.0 / 10000 ** (torch.arange(0, self.width, 2) / self.width)
        return values * self.rates


class Table(nn.Module):
    def __init__(self, width):
        super().__init__()
        rates = 1.0 / 10000 ** (torch.arange(0, width, 2) / width)
        self.register_buffer("table", torch.outer(torch.arange(4096.0), rates).cos())

    def forward(self, values):
        return values * self.table[: values.shape[1]]


class KeepsFloat32(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("rates", 1.0 / 10000 ** (torch.arange(0, width, 2) / width))

    def forward(self, values):
        return values * self.rates

    def _apply(self, function, recurse=True):
        return self


class Plain(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("places", torch.arange(width))
        self.register_buffer("halves", torch.full((width,), 0.5))

    def forward(self, values):
        return values * self.halves + self.places


def build():
    anew, table, keeps, plain = Anew(8), Table(8), KeepsFloat32(8), Plain(8)
    for each in (anew, table, keeps, plain):
        each.to(torch.bfloat16)
    anew.half()
    table.half()
    keeps.half()
    plain.half()
    return anew, table, keeps, plain
