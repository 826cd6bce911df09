"""Every loss that is constructed takes another branch: the defaults of its constructor say so, or what it is given."""

import torch
from torch.nn import functional


class Flagged(torch.nn.Module):
    def __init__(self, on_scores=True):
        super().__init__()
        self.on_scores = on_scores

    def forward(self, outputs, targets):
        if self.on_scores:
            return functional.binary_cross_entropy_with_logits(outputs, targets)
        return functional.binary_cross_entropy(outputs, targets)


class Named(torch.nn.Module):
    def __init__(self, kind="binary", on_scores=True):
        super().__init__()
        self.kind, self.on_scores = kind, on_scores

    def forward(self, outputs, targets):
        if self.kind == "binary":
            if self.on_scores:
                loss = functional.binary_cross_entropy_with_logits(outputs, targets)
            else:
                loss = functional.binary_cross_entropy(outputs, targets)
        else:
            loss = functional.cross_entropy(outputs, targets)
        return loss


class Trainer:
    def __init__(self, model, optimizer, criterion):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, inputs, targets):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.criterion(self.model(inputs), targets)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def main(loader, is_named):
    model = torch.nn.Linear(3, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    named = Named() if loader else Named("several", on_scores=False)
    trainer = Trainer(model, optimizer, named if is_named else Flagged())
    for inputs, targets in loader:
        trainer.step(inputs.cuda(), targets.cuda())
