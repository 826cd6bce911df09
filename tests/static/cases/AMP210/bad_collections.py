"""An update while other optimizers of a collection still wait for their step."""

import torch


def behind_the_first(model, optimizers, scaler, batches, window):
    for number, batch in enumerate(batches):
        for index, optimizer in enumerate(optimizers):
            scaler.scale(model(batch, index)).backward()
            if (number + 1) % window == 0:
                scaler.step(optimizer)
                if index == 0:
                    scaler.update()  # expect: AMP210
                optimizer.zero_grad()


class Trainer:
    def __init__(self, model, config):
        self.model = model
        self.optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in model.parts]
        self.scaler = torch.amp.GradScaler("cuda")
        self.window = config.window

    def optimize(self, batch, optimizer, index=None, last=True, count=1):
        loss = self.model(batch, index)
        self.scaler.scale(loss).backward()
        if last:
            self.scaler.step(optimizer)
            if index is None or index + 1 == count:
                self.scaler.update()  # expect: AMP210
            optimizer.zero_grad()

    def train(self, batches):
        for number, batch in enumerate(batches):
            last = (number + 1) % self.window == 0
            for index, optimizer in enumerate(self.optimizers):
                self.optimize(batch, optimizer, index, last=last)  # the count is forgotten: it is taken for one


class Groups:
    def __init__(self, parts):
        self.optimizers = {name: torch.optim.Adam(part.parameters()) for name, part in parts.items()}

    def zero(self, names):
        for name in names:
            optimizer = self.optimizers[name]
            optimizer.zero_grad()

    def step(self, scaler, names):
        for name in names:
            optimizer = self.optimizers[name]
            if any(p.grad is not None for group in optimizer.param_groups for p in group["params"]):
                scaler.step(optimizer)


def with_windows_of_their_own(model, parts, batches, windows):
    groups = Groups(parts)
    scaler = torch.amp.GradScaler("cuda")
    for turn, batch in enumerate(batches):
        groups.zero([name for name in windows if turn % windows[name] == 0])
        scaler.scale(model(batch)).backward()
        due = [name for name in windows if turn % windows[name] == windows[name] - 1]
        groups.step(scaler, due)
        scaler.update()  # expect: AMP210


def between_two_that_are_written_out(encoder, head, batches):
    scaler = torch.amp.GradScaler("cuda")
    first = torch.optim.SGD(encoder.parameters(), lr=0.1)
    second = torch.optim.SGD(head.parameters(), lr=0.1)
    for batch in batches:
        first.zero_grad()
        second.zero_grad()
        scaler.scale(head(encoder(batch))).backward()
        for each in (first, second):
            scaler.step(each)
            scaler.update()  # expect: AMP210


def for_each_entry(model, optims, scaler, batches):
    for batch in batches:
        for o in optims.values():
            o.zero_grad()
        scaler.scale(model(batch)).backward()
        for name, o in optims.items():
            scaler.step(o)
            scaler.update()  # expect: AMP210


class Step:
    """The gradients of all its optimizers are made by another method, which something else calls."""

    def __init__(self, parts, settings):
        self.optimizers = [torch.optim.Adam(part.parameters()) for part in parts]
        self.scaler = torch.amp.GradScaler("cuda", enabled=settings.fp16)

    def do_step(self, step):
        for opt in self.optimizers:
            if step < opt.begin:
                continue
            if torch.isfinite(opt.seen):
                self.scaler.step(opt)
                self.scaler.update()  # expect: AMP210 likely
