"""Objects that zero their gradients when they are made, and take turns: the gradients of each are its own."""

import torch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")
        self.optimizer.zero_grad(set_to_none=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def step(self, inputs, targets):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(self.model(inputs), targets)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)


class Careful(Trainer):
    pass


def in_a_context(model, batches):
    with Trainer(model) as trainer:
        for inputs, targets in batches:
            trainer.step(inputs, targets)


def one_of_two(model, batches, careful):
    trainer = Careful(model) if careful else Trainer(model)
    for inputs, targets in batches:
        trainer.step(inputs, targets)


def in_turns(model, other, batches):
    first, second = Trainer(model), Trainer(other)
    for inputs, targets in batches:
        first.step(inputs, targets)
        second.step(inputs, targets)
