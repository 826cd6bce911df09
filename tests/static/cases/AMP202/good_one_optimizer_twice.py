"""One optimizer under two names, and everything behind a test for its identity."""

import torch


def unscale(scaler, body, head):
    scaler.unscale_(body)
    if head is not body:
        scaler.unscale_(head)


def handed_in_twice(model, batches):
    scaler, optimizer = torch.amp.GradScaler("cuda"), torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        unscale(scaler, optimizer, optimizer)
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, model, body, head):
        self.model, self.body, self.head = model, body, head
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, batches):
        for batch in batches:
            self.body.zero_grad()
            self.scaler.scale(self.model(batch)).backward()
            self.scaler.unscale_(self.body)
            if id(self.head) != id(self.body):
                self.scaler.unscale_(self.head)
            self.scaler.step(self.body)
            if not (self.head is self.body):
                self.scaler.step(self.head)
            self.scaler.update()


def main(model, batches):
    optimizer = torch.optim.AdamW(model.parameters())
    Trainer(model, optimizer, optimizer).train(batches)
