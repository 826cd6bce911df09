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


class Accumulating:
    def iteration(self, inputs, targets):
        *parts, last = zip(inputs.chunk(self.window), targets.chunk(self.window))
        with self.model.no_sync():
            for part, target in parts:
                self.scaler.scale(self.loss_fn(self.model(part), target) / self.window).backward()
        self.scaler.scale(self.loss_fn(self.model(last[0]), last[1]) / self.window).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def iteration_reduced_by_hand(self, inputs, targets):
        with self.model.no_sync():
            for part, target in zip(inputs.chunk(self.window), targets.chunk(self.window)):
                self.scaler.scale(self.loss_fn(self.model(part), target) / self.window).backward()
        self.all_reduce_gradients()
        self.scaler.step(self.optimizer)
        self.scaler.update()
