"""Two optimizers that share parameters: what one has unscaled is unscaled for the other one, too."""

import torch


def head_then_all(model, loss_fn, batches):
    scaler = torch.amp.GradScaler("cuda")
    of_head = torch.optim.AdamW(model.head.parameters())
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(of_head)
        torch.nn.utils.clip_grad_norm_(model.head.parameters(), 1.0)
        scaler.step(of_head)
        scaler.update()
        model.zero_grad()
    of_all = torch.optim.AdamW(model.parameters())
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(of_all)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(of_all)
        scaler.update()
        of_all.zero_grad()


class Unscales:
    def after_backward(self, loop):
        loop.scaler.unscale_(loop.optimizer)


class Clips:
    def after_backward(self, loop):
        torch.nn.utils.clip_grad_norm_(loop.model.parameters(), 1.0)


class Loop:
    def __init__(self, model, optimizer, callbacks):
        self.model, self.optimizer, self.callbacks = model, optimizer, callbacks
        self.scaler = torch.amp.GradScaler("cuda")

    def emit(self, event):
        for callback in self.callbacks:
            handler = getattr(callback, event, None)
            if handler is not None:
                handler(self)

    def run(self, loss_fn, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.emit("after_backward")
            self.scaler.step(self.optimizer)
            self.scaler.update()


def main(model, loss_fn, batches):
    Loop(model, torch.optim.SGD(model.parameters(), lr=0.1), [Unscales(), Clips()]).run(loss_fn, batches)
