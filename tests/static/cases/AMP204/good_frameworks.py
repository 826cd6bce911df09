import torch
from accelerate import Accelerator
from lightning.pytorch import LightningModule


def train(model, optimizer, batches, log):
    accelerator = Accelerator()
    for batch in batches:
        accelerator.backward(model(**batch).loss)
        log(accelerator.clip_grad_norm_(model.parameters(), 1.0))
        log(model.head.weight.grad.norm())
        optimizer.step()
        optimizer.zero_grad()


class Measured(LightningModule):
    def on_before_optimizer_step(self, optimizer):
        for name, parameter in self.named_parameters():
            if parameter.grad is not None:
                self.log(name, parameter.grad.norm())

    def on_after_backward(self):
        if any(torch.isnan(each.grad).any() for each in self.parameters() if each.grad is not None):
            self.zero_grad()


def after_a_clip(model, optimizer, batches, log):
    """What the clip leaves is another rule's."""
    accelerator = Accelerator(mixed_precision="fp16")
    for batch in batches:
        accelerator.backward(model(**batch).loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        log(model.head.weight.grad.norm())
        optimizer.step()
        optimizer.zero_grad()
