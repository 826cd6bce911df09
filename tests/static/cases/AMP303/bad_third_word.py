"""For a word that neither asks for, the region is on in float16 and the scaler off."""

import torch
from torch import nn


def train(args, net, optimizer, batches):
    if args.precision == "bf16":
        kind = torch.bfloat16
    else:
        kind = torch.float16
    scaler = torch.amp.GradScaler("cuda", enabled=args.precision == "fp16")  # expect: AMP303 likely
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=kind):
            loss = nn.functional.mse_loss(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, options):
        self.kind = {"bf16": torch.bfloat16}.get(options["kind"], torch.float16)
        self.scaler = torch.amp.GradScaler("cuda", enabled=options["kind"] in ("fp16", "half"))  # expect: AMP303 likely

    def step(self, net, optimizer, inputs, targets):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=self.kind):
            loss = nn.functional.mse_loss(net(inputs), targets)
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()
