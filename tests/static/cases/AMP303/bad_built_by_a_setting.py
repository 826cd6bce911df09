"""Without the setting there is no scaler, and still a region."""

import torch


def one_loop(model, optimizer, batches, args):
    scaler = torch.amp.GradScaler("cuda") if args.amp else None  # expect: AMP303 likely
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


class Trainer:
    def __init__(self, model, optimizer, mixed_precision=True):
        self.model, self.optimizer = model, optimizer
        self.scaler = None
        if mixed_precision:
            self.scaler = torch.amp.GradScaler("cuda")  # expect: AMP303 likely

    def step(self, inputs):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(inputs).square().mean()
        if self.scaler:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            loss.backward()
            self.optimizer.step()
