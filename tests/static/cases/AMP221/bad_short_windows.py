"""The loop ends within a window, and nothing steps before the next backward."""

import torch


def lost_in_the_next_epoch(model, loader, optimizer, scaler, window, epochs):
    for _ in range(epochs):
        optimizer.zero_grad()
        for i, (inputs, targets) in enumerate(loader):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
            scaler.scale(loss).backward()
            if (i + 1) % window == 0:  # expect: AMP221 likely
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()


def carried_into_it(model, loader, optimizer, scaler, window, epochs):
    for _ in range(epochs):
        for number, (inputs, targets) in enumerate(loader, start=1):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
            scaler.scale(loss).backward()
            if number % window != 0:  # expect: AMP221 likely
                continue
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def with_a_count_of_the_epoch(model, loader, optimizer, scaler, window):
    seen = 0
    optimizer.zero_grad()
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
        scaler.scale(loss).backward()
        seen += 1
        if seen % window == 0:  # expect: AMP221 likely
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def with_a_count_of_all_epochs_that_is_cut(model, loader, optimizer, scaler, window, epochs):
    steps = 0
    for _ in range(epochs):
        optimizer.zero_grad()
        for inputs, targets in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
            scaler.scale(loss).backward()
            steps += 1
            if steps % window == 0:  # expect: AMP221 likely
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()


class Wrapper:
    def __init__(self):
        self.inner = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, update):
        self.inner.scale(loss).backward()
        if update:
            self.inner.step(optimizer)
            self.inner.update()


def by_a_wrapper(model, loader, optimizer, window):
    wrapper = Wrapper()
    optimizer.zero_grad()
    for step, (inputs, targets) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
        wrapper(loss, optimizer, update=(step + 1) % window == 0)  # expect: AMP221 likely
        if (step + 1) % window == 0:
            optimizer.zero_grad()


class Trainer:
    def epoch(self):
        progress = enumerate(self.loader)
        for i, (inputs, targets) in progress:
            self.micro_batch(inputs, targets)
            if (i + 1) % self.window == 0:  # expect: AMP221 likely
                self.step()

    def micro_batch(self, inputs, targets):
        with torch.autocast("cuda", dtype=torch.float16, enabled=self.amp):
            loss = torch.nn.functional.mse_loss(self.model(inputs), targets) / self.window
        if self.amp:
            self.scaler.scale(loss).backward()
        else:
            loss.backward()

    def step(self):
        if self.amp:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        self.optimizer.zero_grad()


def of_data_that_leaves_some_over(model, optimizer, scaler):
    train_on(model, [torch.randn(8, 4) for _ in range(10)], optimizer, scaler, 4)


def train_on(model, batches, optimizer, scaler, window):
    for i, batch in enumerate(batches):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean() / window
        scaler.scale(loss).backward()
        if not (i + 1) % window:  # expect: AMP221 likely
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
