"""The loss is worked out behind the region, or scaled in a function that it is handed to; only the evaluation is on."""

import torch


class Stepper:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer):
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()
        optimizer.zero_grad()


def evaluate(model, batches):
    with torch.no_grad(), torch.autocast("cuda"):
        return sum(model(batch).sum() for batch in batches)


class Scores:
    def of(self, model, batches):
        with torch.no_grad(), torch.autocast("cuda"):
            return [model(batch) for batch in batches]


class World(torch.nn.Module):
    def fit(self, model, batch, scaler):
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        scaler.scale(loss).backward()


def train(model, criterion, optimizer, batches):
    step = Stepper()
    for inputs, targets in batches:
        with torch.autocast("cuda", enabled=False):  # expect: AMP303 likely
            outputs = model(inputs)
        losses = criterion(outputs["logits"], targets)
        total = losses["mask"] + losses["box"]
        step(total, optimizer)


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def gradients(self, batch):
        loss = self.model.render(batch).mean()
        self.scaler.scale(loss).backward()
        return loss.detach()

    def update(self, batch):
        with torch.autocast("cuda", enabled=False):  # expect: AMP303 likely
            loss = self.gradients(batch)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        return loss


if __name__ == "__main__":
    train(*evaluate(None, []))
    World().fit(None, None, torch.amp.GradScaler("cuda"))
    Trainer(None, None).update(None)
