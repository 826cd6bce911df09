"""Weights made bfloat16 in one way or another, and trained by an Adam in small steps."""

import copy

import torch
from torch import nn
from transformers import AutoModelForCausalLM


def small_net():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))


def by_a_method(batches):
    net = small_net().cuda().bfloat16()
    opt = torch.optim.Adam(net.parameters(), lr=3e-5)  # expect: AMP701
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        opt.zero_grad()


def by_a_dtype_in_place(batches, device):
    net = small_net()
    net.to(device, torch.bfloat16)
    opt = torch.optim.AdamW([{"params": net.parameters()}], lr=1e-4)  # expect: AMP701
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        opt.zero_grad()


def by_default_rate(batches):
    layers = nn.Linear(8, 8, dtype=torch.bfloat16)
    opt = torch.optim.AdamW(layers.parameters())  # expect: AMP701 likely
    for batch in batches:
        layers(batch).mean().backward()
        opt.step()
        opt.zero_grad()


def loaded(batches, rate):
    lm = AutoModelForCausalLM.from_pretrained("some/model", torch_dtype=torch.bfloat16)
    opt = torch.optim.AdamW(lm.parameters(), lr=rate)  # expect: AMP701 likely
    for batch in batches:
        lm(**batch).loss.backward()
        opt.step()
        opt.zero_grad()


class Trainer:
    def __init__(self, size):
        self.net = nn.Linear(size, size).to(dtype=torch.bfloat16)
        self.optim = torch.optim.AdamW(self.net.parameters(), lr=2e-5)  # expect: AMP701

    def fit(self, batches):
        for batch in batches:
            self.net(batch).mean().backward()
            self.optim.step()
            self.optim.zero_grad()


def the_copy_of_another_is_frozen(batches):
    """Only the teacher is frozen."""
    net = small_net().to(torch.bfloat16)
    teacher = copy.deepcopy(net)
    teacher.requires_grad_(False)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-5)  # expect: AMP701
    for batch in batches:
        (net(batch) - teacher(batch)).square().mean().backward()
        opt.step()
        opt.zero_grad()


def by_a_framework(accelerator, batches):
    net = small_net().to(torch.bfloat16)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-5)  # expect: AMP701 likely
    net, opt, batches = accelerator.prepare(net, opt, batches)
    for batch in batches:
        accelerator.backward(net(batch).mean())
        opt.step()
        opt.zero_grad()
