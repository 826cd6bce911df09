import torch


class Trainer:
    def __init__(self, model, optimizer, scaler, max_norm=1.0):
        self.model, self.optimizer, self.max_norm = model, optimizer, max_norm
        self.grad_scaler = scaler

    def step(self, loss):
        self.grad_scaler.scale(loss).backward()
        if self.max_norm:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.grad_scaler.step(self.optimizer)
        self.grad_scaler.update()


def train(model, loss_fn, optimizer, scaler, batches, device):
    trainer = Trainer(model, optimizer, scaler)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        trainer.step(loss)
