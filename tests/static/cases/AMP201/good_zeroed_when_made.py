"""An object that zeroes the gradients as soon as it is made: its optimizer is the one that its methods step."""

import torch


class Loop:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")
        self.optimizer.zero_grad(set_to_none=True)

    def optimize(self):
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def __call__(self, inputs, targets):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(self.model(inputs), targets)
        self.scaler.scale(loss).backward()
        self.optimize()


class Program:
    def __init__(self, model):
        self.loop = Loop(model)

    def run(self, batches):
        for inputs, targets in batches:
            self.loop(inputs, targets)


def run(model, batches):
    loop = Loop(model)
    for inputs, targets in batches:
        loop(inputs, targets)


def run_all(model, batches):
    program = Program(model)
    program.run(batches)
