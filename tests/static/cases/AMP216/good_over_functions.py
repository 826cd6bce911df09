"""Windows of the same kinds, with losses that are divided; and counts of something else."""

from torch.amp import GradScaler


def by_a_count(model, loss_fn, optimizer, scaler, batches, length):
    count = 0
    for batch in batches:
        count += 1
        loss = loss_fn(model(batch)) / length
        scaler.scale(loss).backward()
        if count == length:
            count = 0
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def by_a_mode(model, loss_fn, optimizer, scaler, batches, mode):
    for batch in batches:
        scaler.scale(loss_fn(model(batch))).backward()
        if mode == "train":
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


class Scaler:
    def __init__(self):
        self.inner = GradScaler()

    def __call__(self, loss, optimizer, update=True):
        self.inner.scale(loss).backward()
        if update:
            self.inner.step(optimizer)
            self.inner.update()


def by_a_wrapper(model, loss_fn, optimizer, batches, length):
    scaler = Scaler()
    for number, batch in enumerate(batches):
        loss = loss_fn(model(batch))
        loss /= length
        scaler(loss, optimizer, update=(number + 1) % length == 0)


def each_time(model, loss_fn, optimizer, batches):
    scaler = Scaler()
    for batch in batches:
        scaler(loss_fn(model(batch)), optimizer)


class Optimizers:
    def __init__(self, optimizers):
        self.optimizers = optimizers

    def step_all(self, scaler):
        for optimizer in self.optimizers:
            scaler.step(optimizer)


class Trainer:
    def __init__(self, model, optimizers, parts):
        self.model = model
        self.optimizers = Optimizers(optimizers)
        self.scaler = GradScaler()
        self.parts = parts

    def turn(self, batches):
        for _ in range(self.parts):
            loss = self.model(next(batches)).mean() / self.parts
            self.scaler.scale(loss).backward()
        self.optimizers.step_all(self.scaler)
        self.scaler.update()

    def several_steps(self, batches):
        for _ in range(self.parts):
            self.scaler.scale(self.model(next(batches)).mean()).backward()
            self.optimizers.step_all(self.scaler)
            self.scaler.update()
