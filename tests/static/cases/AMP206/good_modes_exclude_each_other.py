"""What one mode leaves unscaled another mode's step cannot meet: one value is not two constants."""

import torch
from apex import amp

from settings import Mode


class Step:
    @staticmethod
    def run_backward(task, loss):
        task.optimizer.zero_grad()
        if task.mode == Mode.APEX:
            with amp.scale_loss(loss, task.optimizer) as scaled_loss:
                scaled_loss.backward()
        elif task.mode == Mode.PYTORCH:
            task.scaler.scale(loss).backward()
        else:
            loss.backward()

    @staticmethod
    def run_step(task):
        if task.mode == Mode.PYTORCH:
            task.scaler.step(task.optimizer)
            task.scaler.update()
        else:
            task.optimizer.step()

    def __call__(self, task, inputs, targets):
        task.scaler = torch.amp.GradScaler("cuda")
        loss = task.loss_fn(task.model(inputs), targets)
        self.run_backward(task, loss)
        self.run_step(task)


def train(model, loss_fn, optimizer, batches, precision):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(model(inputs), targets)
        if precision in ("bf16", "fp32"):
            loss.backward()
        elif "fp16" == precision:
            scaler.scale(loss).backward()
        if precision == "fp16":
            scaler.step(optimizer)
            scaler.update()
        elif precision in ("fp32", "bf16"):
            optimizer.step()
