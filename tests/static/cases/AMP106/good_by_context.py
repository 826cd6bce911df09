"""The method runs in a region of both, the conditions come from one setting, the reference is in the region, too."""

import torch
from torch import nn


class Engine:
    def __init__(self, network, half):
        self.network, self.half = network, half
        self.objective = nn.MSELoss()
        self.optimizer = torch.optim.Adam(network.parameters())
        self.scaler = torch.amp.GradScaler("cuda", enabled=half)

    def _loss(self, values, targets):
        return self.objective(self.network(values), targets)

    def fit(self, loader):
        for values, targets in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16, enabled=self.half):
                loss = self._loss(values, targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    @torch.no_grad()
    def check(self, loader):
        self.network.eval()
        total = 0.0
        for values, targets in loader:
            with torch.autocast("cuda", dtype=torch.float16, enabled=self.half):
                total += self._loss(values, targets).item()
        return total


def by_one_setting(model, criterion, loader, val_loader, optimizer, settings):
    use_amp = settings.half and torch.cuda.is_available()
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp)
    for values, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=use_amp):
            loss = criterion(model(values), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return evaluate(model, criterion, val_loader, use_amp)


@torch.no_grad()
def evaluate(model, criterion, val_loader, enabled):
    model.eval()
    total = 0.0
    for values, targets in val_loader:
        with torch.autocast("cuda", dtype=torch.float16, enabled=enabled):
            total += criterion(model(values), targets).item()
    return total


def preferences(policy, frozen, batches, optimizer, scaler):
    for tokens, margin in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            mine = policy(tokens).logits.float().log_softmax(-1)
            with torch.no_grad():
                its = frozen(tokens).logits.float().log_softmax(-1)
        loss = (margin - (mine - its).mean()).pow(2)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def two_inputs(model, batches, optimizer, scaler):
    for first, second in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            scores = model(first)
        with torch.no_grad():
            target = model(second)
        loss = (scores - target).pow(2).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
