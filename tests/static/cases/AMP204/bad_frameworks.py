import torch
from accelerate import Accelerator
from lightning.pytorch import LightningModule


def norm_of(parameters):
    return torch.norm(torch.cat([each.grad.view(-1) for each in parameters]), p=2)


def train(model, optimizer, batches, log):
    accelerator = Accelerator()
    for batch in batches:
        accelerator.backward(model(**batch).loss)
        log(norm_of(model.parameters()))  # expect: AMP204 likely
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


class Measured(LightningModule):
    def on_after_backward(self):
        for name, parameter in self.named_parameters():
            if parameter.grad is not None:
                self.log(name, parameter.grad.norm())  # expect: AMP204 likely

    def training_step(self, batch):
        first = self.optimizers()
        self.manual_backward(self.model(batch).mean())
        norm = limit_values(self.model.parameters(), None)  # expect: AMP204 likely
        first.step()
        self.manual_backward(self.critic(batch).mean())
        other = limit_numbers(self.critic.parameters(), None)  # expect: AMP204 likely
        first.step()
        return norm, other


def limit_numbers(parameters, limit):
    if limit is not None:
        limit = float(limit)
    return clip_grad_value_(parameters, None)


def clip_grad_value_(parameters, limit):
    if limit is not None:
        limit = float(limit)
    total = 0.0
    for each in parameters:
        total += each.grad.data.norm(2).item() ** 2
        if limit is not None:
            each.grad.data.clamp_(-limit, limit)
    return total**0.5


def limit_values(parameters, limit):
    total = 0.0
    for each in parameters:
        total += each.grad.data.norm(2).item() ** 2
        if limit is not None:
            each.grad.data.clamp_(-limit, limit)
    return total**0.5
