"""A loss that is kept behind a switch which nobody ever sets, and one behind a setting."""

import torch
from torch import nn


class Trainer:
    def __init__(self, optimizer, verbose):
        self.net = nn.Linear(3, 2)
        self.optimizer = optimizer
        self.scaler = torch.amp.GradScaler("cuda")
        self.traced = False
        self.verbose = verbose

    def fit(self, loader):
        kept = []
        shown = []
        for inputs, targets in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(self.net(inputs), targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            if self.traced:
                kept.append(loss)  # expect: PERF110 likely
            if self.verbose:
                shown.append(loss)  # expect: PERF110
        return kept, shown
