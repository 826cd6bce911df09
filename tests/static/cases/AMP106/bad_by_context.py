"""Both losses by one method, by the model itself, or under conditions that share nothing; and a frozen reference."""

import torch
from torch import nn


class Engine:
    def __init__(self, network):
        self.network = network
        self.objective = nn.MSELoss()
        self.optimizer = torch.optim.Adam(network.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def _outputs(self, values):
        return self.network(values)

    def _loss(self, values, targets):
        return self.objective(self._outputs(values), targets)

    def fit(self, loader):
        for values, targets in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self._loss(values, targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def check(self, loader):
        self.network.eval()
        total = 0.0
        with torch.no_grad():
            for values, targets in loader:
                total += self._loss(values, targets).item()  # expect: AMP106 likely
        return total


def run(loader):
    engine = Engine(nn.Linear(6, 3))
    engine.fit(loader)
    return engine.check(loader)


def fine_tune(model, train_set, held_out, optimizer, scaler):
    for batch in train_set:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(**batch)["loss"]
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return perplexity(model, held_out)


@torch.inference_mode()
def perplexity(model, held_out):
    model.eval()
    losses = []
    for batch in held_out:
        given = model(**batch)  # expect: AMP106 likely
        losses.append(given["loss"].item())
    return losses


def preferences(policy, frozen, batches, optimizer, scaler):
    for tokens, margin in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            mine = policy(tokens).logits.float().log_softmax(-1)
        with torch.no_grad():
            its = frozen(tokens).logits.float().log_softmax(-1)  # expect: AMP106 likely
        loss = (margin - (mine - its).mean()).pow(2)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
