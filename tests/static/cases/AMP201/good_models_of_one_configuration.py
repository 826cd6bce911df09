"""Two models made of the same arguments share no parameters for that; one optimizer is wrapped, and whose it is unknown."""

import argparse

import torch
from torch import nn


class Averaged(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner = inner
        self.param_groups = inner.param_groups

    def step(self, closure=None):
        return self.inner.step(closure)


class Part(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.layer = nn.Linear(args.width, args.width)

    def forward(self, x):
        return self.layer(x)


def train(args, batches):
    encoder = Part(args).cuda()
    prior = Part(args).cuda()
    encoder_optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    prior_optimizer = Averaged(torch.optim.Adam(prior.parameters(), lr=1e-3))
    scaler = torch.amp.GradScaler("cuda")
    for x in batches:
        encoder_optimizer.zero_grad()
        prior_optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            encoded = encoder(x)
            first = encoded.square().mean()
            second = prior(encoded.detach()).square().mean()
        if args.train_encoder:
            scaler.scale(first).backward()
            scaler.unscale_(encoder_optimizer)
            nn.utils.clip_grad_norm_(encoder.parameters(), args.limit)
            scaler.step(encoder_optimizer)
        scaler.scale(second).backward()
        scaler.unscale_(prior_optimizer)
        nn.utils.clip_grad_norm_(prior.parameters(), args.limit)
        scaler.step(prior_optimizer)
        scaler.update()


parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=8)
parser.add_argument("--limit", type=float, default=1.0)
parser.add_argument("--train_encoder", action="store_true")
train(parser.parse_args(), [])
