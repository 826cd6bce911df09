import contextlib


class Task:
    def train_step(self, model, batch):
        step = self.updates % self.period == self.period - 1
        with self.replicated.no_sync() if not step else contextlib.nullcontext():
            loss = model(batch["inputs"]).mean()
            self.run_optimizer(loss, step)

    def run_optimizer(self, loss, step):
        with self.replicated.no_sync() if not step else contextlib.nullcontext():
            self.scaler.scale(loss).backward()
        if step:
            self.scaler.step(self.optimizer)
            self.scaler.update()


class Trainer:
    def train_epoch(self, model, batches, scaler, optimizer):
        window = self.window
        for index, batch in enumerate(batches):
            context = contextlib.nullcontext
            if self.parallel:
                context = model.no_sync if (index + 1) % window != 0 else context
            with context():
                loss = model(**batch)
                scaler.scale(loss / window).backward()
            self.update(index, scaler, optimizer)

    def train_epoch_from_one(self, model, batches, scaler, optimizer):
        window = self.window
        for index, batch in enumerate(batches, 1):
            context = model.no_sync if index % window != 0 else contextlib.nullcontext
            with context():
                loss = model(**batch)
                scaler.scale(loss / window).backward()
            self.update(index - 1, scaler, optimizer)

    def update(self, index, scaler, optimizer):
        if (index + 1) % self.window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
