from contextlib import contextmanager

import torch
from torch.nn.utils import clip_grad_norm_
from tqdm import tqdm


class Loop:
    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.scaler = torch.amp.GradScaler("cuda")

    @contextmanager
    def optimized(self, loss):
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        yield
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def run(self, batches):
        for inputs, targets in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(inputs), targets)
            with self.optimized(loss):
                clip_grad_norm_(self.model.parameters(), 1.0)  # expect: AMP201


def derived(model, loss_fn, optimizer, scaler, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        yield loss.detach()


def counted(*given):
    yield from derived(*given)


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for step, loss in enumerate(tqdm(counted(model, loss_fn, optimizer, scaler, batches))):
        if step > 1000:
            break
        clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP201
        scaler.step(optimizer)
        scaler.update()


@contextmanager
def scaled(loss, scaler):
    yield scaler.scale(loss)


def step(model, loss_fn, optimizer, inputs, targets, scaler: torch.amp.GradScaler):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(inputs), targets)
    with scaled(loss, scaler) as scaled_loss:
        scaled_loss.backward()
    clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP201
    scaler.step(optimizer)
    scaler.update()
