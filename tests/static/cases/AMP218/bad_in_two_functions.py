import contextlib


class Task:
    """The forward stands in one method, the backward in another."""

    def train_step(self, model, batch):
        loss = model(batch["inputs"]).mean()
        self.run_optimizer(loss)

    def run_optimizer(self, loss):
        step = self.updates % self.period == self.period - 1
        context = (
            self.replicated.no_sync() if not step else contextlib.nullcontext()  # expect: AMP218 likely
        )
        with context:
            if self.scaler is not None:
                self.scaler.scale(loss).backward()
            else:
                loss.backward()
        if step:
            self.scaler.step(self.optimizer)
            self.scaler.update()


class Trainer:
    """Synchronises the first micro-batch of a window."""

    def train_epoch(self, model, batches, scaler, optimizer):
        window = self.window
        for index, batch in enumerate(batches):
            context = contextlib.nullcontext
            if self.parallel:
                context = model.no_sync if index % window != 0 else context  # expect: AMP218 likely
            with context():
                loss = model(**batch)
                scaler.scale(loss / window).backward()
            self.update(index, scaler, optimizer)

    def update(self, index, scaler, optimizer):
        if (index + 1) % self.window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


class Accumulating:
    """Nothing between two steps is synchronised."""

    def iteration(self, inputs, targets):
        context = self.model.no_sync if self.distributed else contextlib.nullcontext  # expect: AMP218 likely
        with context():
            for part, target in zip(inputs.chunk(self.window), targets.chunk(self.window)):
                loss = self.loss_fn(self.model(part), target) / self.window
                self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
