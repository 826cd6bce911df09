"""Gradients left over, or zeroed too early."""

import torch


def never_zeroed(model, optimizer, scaler, batches):
    for batch in batches:
        loss = model(batch)
        scaler.scale(loss).backward()  # expect: AMP212
        scaler.step(optimizer)
        scaler.update()


def between_backward_and_step(model, optimizer, scaler, batches):
    for batch in batches:
        scaler.scale(model(batch)).backward()
        optimizer.zero_grad()  # expect: AMP212
        scaler.step(optimizer)
        scaler.update()


def by_hand_before_the_step(model, optimizer, scaler, batches):
    for batch in batches:
        scaler.scale(model(batch)).backward()
        for p in model.parameters():
            p.grad = None  # expect: AMP212
        scaler.step(optimizer)
        scaler.update()


def on_every_micro_batch(model, optimizer, scaler, batches, args):
    for step, batch in enumerate(batches):
        optimizer.zero_grad()  # expect: AMP212
        scaler.scale(model(batch) / args.accumulate).backward()
        if args.clip > 0:
            model.log_step(step)
        if args.accumulate is None or (step + 1) % args.accumulate == 0:
            scaler.step(optimizer)
            scaler.update()


class Trainer:
    def __init__(self, model, window):
        self.model, self.window = model, window
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def micro_batch(self, batch, accumulating):
        self.model.zero_grad()  # expect: AMP212
        self.scaler.scale(self.model(batch) / self.window).backward()
        if not accumulating:
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def fit(self, batches):
        for number, batch in enumerate(batches):
            self.micro_batch(batch, accumulating=(number + 1) % self.window != 0)


def checks_before(model, batches, optimizer, scaler, log):
    for batch in batches:
        loss = model(batch)
        scaler.scale(loss).backward()
        if not torch.isfinite(loss):
            raise FloatingPointError(loss.item())
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
        if norm > log.most:
            log.most = norm
        optimizer.zero_grad()  # expect: AMP212
        scaler.step(optimizer)
        scaler.update()
