"""Options of one object that are kept in step, given the same, or that are for the scaler alone."""

import argparse

import torch


def kept_in_step(batches):
    parser = argparse.ArgumentParser()
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--amp", action="store_true")
    args = parser.parse_args()
    args.amp = args.amp or args.fp16
    args.fp16 = args.amp
    model = torch.nn.Linear(4, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", enabled=args.fp16)
    for inputs in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", enabled=args.amp):
            loss = model(inputs).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, model, optimizer, config):
        self.model, self.optimizer, self.config = model, optimizer, config
        self.half = config.precision == 16
        self.autocasts = config.precision == 16
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.half)

    def fit(self, batches):
        for inputs in batches:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", enabled=self.autocasts):
                loss = self.model(inputs).square().mean()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()


def for_the_scaler_alone(model, optimizer, batches, config):
    scaler = torch.amp.GradScaler("cuda", enabled=config.loss_scaling)
    for inputs in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", enabled=config.amp, dtype=getattr(torch, config.dtype)):
            loss = model(inputs).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
