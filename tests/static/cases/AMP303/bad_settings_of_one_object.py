"""Two options of one object: what it is called, and where it comes from, says nothing of them."""

import argparse
from dataclasses import dataclass

import torch


@dataclass
class Options:
    fp16: bool = True
    mixed: bool = True


def by_options_of_the_command(batches):
    parser = argparse.ArgumentParser()
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--amp", action="store_true")
    args = parser.parse_args()
    model = torch.nn.Linear(4, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", enabled=args.fp16)  # expect: AMP303 likely
    for inputs in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", enabled=args.amp):
            loss = model(inputs).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, model, optimizer, options: Options):
        self.model, self.optimizer, self.options = model, optimizer, options
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.options.fp16)  # expect: AMP303 likely

    def fit(self, batches):
        for inputs in batches:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", enabled=self.options.mixed):
                loss = self.model(inputs).square().mean()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
