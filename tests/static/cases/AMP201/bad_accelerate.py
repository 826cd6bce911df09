import torch
from accelerate import Accelerator


def train(model, optimizer, batches):
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    for batch in batches:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            if accelerator.sync_gradients:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP201 likely
            optimizer.step()
            optimizer.zero_grad()


class Box:
    """Its precision is asked of the command that launches it."""

    def __init__(self, model, optimizer, accelerator=None):
        self.model, self.optimizer, self.accelerator = model, optimizer, accelerator

    def step(self, loss):
        if self.accelerator is not None:
            self.accelerator.backward(loss)
        else:
            loss.backward()
        limit(self.model)  # expect: AMP201 likely
        self.optimizer.step()
        self.optimizer.zero_grad()


def limit(model):
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)


def box(model, optimizer):
    return Box(model, optimizer, Accelerator())
