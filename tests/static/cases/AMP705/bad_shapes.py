"""Scalers over optimizers of bfloat16 weights."""

import torch
from torch import nn
from torch.amp import GradScaler


def steps(batches):
    net = nn.Linear(4, 1).cuda().bfloat16()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler()
    for batch in batches:
        opt.zero_grad()
        scaler.scale(net(batch).mean()).backward()
        scaler.step(opt)  # expect: AMP705
        scaler.update()


def unscales_first(batches, device):
    net = nn.Linear(4, 1, dtype=torch.bfloat16, device=device)
    opt = torch.optim.AdamW(net.parameters(), lr=0.1)
    loss_scaler = torch.cuda.amp.GradScaler()
    for batch in batches:
        opt.zero_grad()
        loss_scaler.scale(net(batch).mean()).backward()
        loss_scaler.unscale_(opt)  # expect: AMP705
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        loss_scaler.step(opt)
        loss_scaler.update()


def switched(batches, use_amp):
    net = nn.Linear(4, 1).to("cuda", dtype=torch.bfloat16)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler(enabled=use_amp)
    for batch in batches:
        opt.zero_grad()
        scaler.scale(net(batch).mean()).backward()
        scaler.step(opt)  # expect: AMP705 likely
        scaler.update()


class Trainer:
    def __init__(self):
        self.net = nn.Linear(4, 1).to(torch.bfloat16)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.grad_scaler = GradScaler("cuda")

    def update(self, batch):
        self.opt.zero_grad()
        self.grad_scaler.scale(self.net(batch).mean()).backward()
        self.grad_scaler.step(self.opt)  # expect: AMP705
        self.grad_scaler.update()
