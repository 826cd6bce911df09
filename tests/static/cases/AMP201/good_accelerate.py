import torch
from accelerate import Accelerator


def its_own_clip(model, optimizer, batches):
    accelerator = Accelerator(mixed_precision="fp16")
    for batch in batches:
        accelerator.backward(model(**batch).loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def unscaled_first(model, optimizer, batches, limit):
    accelerator = Accelerator(mixed_precision="fp16")
    for batch in batches:
        accelerator.backward(model(**batch).loss)
        accelerator.unscale_gradients()
        torch.nn.utils.clip_grad_value_(model.parameters(), limit)
        optimizer.step()
        optimizer.zero_grad()


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.accelerator = Accelerator(mixed_precision="fp16")

    def by_another_name(self, batches):
        accelerator = self.accelerator
        for batch in batches:
            self.accelerator.backward(self.model(**batch).loss)
            accelerator.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()

    def by_a_helper(self, batches):
        for batch in batches:
            self.accelerator.backward(self.model(**batch).loss)
            self.limit()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def limit(self):
        self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)


def after_the_step(model, optimizer, batches):
    accelerator = Accelerator(mixed_precision="fp16")
    for batch in batches:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.zero_grad()


def unscaled_in_a_helper(model, optimizer, batches):
    accelerator = Accelerator(mixed_precision="fp16")
    for batch in batches:
        accelerator.backward(model(**batch).loss)
        divide_and_limit(accelerator, model)
        optimizer.step()
        optimizer.zero_grad()


def divide_and_limit(accelerator, model):
    accelerator.unscale_gradients()
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
