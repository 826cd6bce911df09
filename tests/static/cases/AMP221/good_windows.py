"""Every micro-batch is stepped: in the last iteration, behind the loop, in the next epoch; or none can be left over."""

import itertools

import torch
from torch.utils.data import DataLoader


def in_the_last_iteration(model, loader, optimizer, scaler, window):
    optimizer.zero_grad()
    for i, (inputs, targets) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
        scaler.scale(loss).backward()
        if (i + 1) % window == 0 or i + 1 == len(loader):
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def by_a_name_for_it(model, loader, optimizer, scaler, window, total):
    optimizer.zero_grad()
    for i, (inputs, targets) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
        scaler.scale(loss).backward()
        full = (i + 1) % window == 0
        ends = i == total - 1
        if full or ends:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def in_a_branch_of_its_own(model, loader, optimizer, scaler, window, last):
    for i, (inputs, targets) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
        scaler.scale(loss).backward()
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        elif i >= last:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def behind_the_loop(model, loader, optimizer, scaler, window):
    pending = False
    for i, (inputs, targets) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
        scaler.scale(loss).backward()
        pending = True
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            pending = False
    if pending:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def thrown_away_on_purpose(model, loader, optimizer, scaler, window, epochs):
    for _ in range(epochs):
        for i, (inputs, targets) in enumerate(loader):
            loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
            scaler.scale(loss).backward()
            if i % window == window - 1:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        if i % window != window - 1:
            optimizer.zero_grad()


class Trainer:
    def __init__(self, model, window):
        self.model = model
        self.window = window
        self.count = 0
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def flush(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()

    def fit(self, loader, epochs):
        for _ in range(epochs):
            self.epoch(loader)
            self.flush()

    def epoch(self, loader):
        for i, (inputs, targets) in enumerate(loader):
            loss = torch.nn.functional.mse_loss(self.model(inputs), targets) / self.window
            self.scaler.scale(loss).backward()
            if (i + 1) % self.window == 0:
                self.flush()

    def across_epochs(self, loader):
        for inputs, targets in loader:
            loss = torch.nn.functional.mse_loss(self.model(inputs), targets) / self.window
            self.scaler.scale(loss).backward()
            self.count += 1
            if self.count % self.window == 0:
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad()


def with_a_count_that_goes_on(model, loader, optimizer, scaler, window, epochs):
    for epoch in range(epochs):
        for number, (inputs, targets) in enumerate(loader, start=1 + epoch * len(loader)):
            loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
            scaler.scale(loss).backward()
            if number % window == 0:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()


def whole_windows_only(model, loader, optimizer, scaler, window, windows):
    for i, (inputs, targets) in enumerate(itertools.islice(loader, windows * window)):
        loss = torch.nn.functional.mse_loss(model(inputs), targets) / window
        scaler.scale(loss).backward()
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def of_data_that_is_a_multiple(model, optimizer, scaler):
    trained_by_four(model, [torch.randn(8, 4)] * 12, optimizer, scaler, 4)


def trained_by_four(model, batches, optimizer, scaler, window):
    for i, batch in enumerate(batches):
        loss = model(batch).mean() / window
        scaler.scale(loss).backward()
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def of_a_loader_that_drops_the_rest(model, data, optimizer, scaler, window):
    loader = DataLoader(data, batch_size=8, drop_last=True)
    for i, batch in enumerate(loader):
        loss = model(batch).mean() / window
        scaler.scale(loss).backward()
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def by_steps_of_a_run(model, loader, optimizer, scaler, window, most):
    batches = iter(loader)
    for step in range(most):
        loss = model(next(batches)).mean() / window
        scaler.scale(loss).backward()
        if (step + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def trained_less_often(critic, generator, loader, critic_optimizer, optimizer, scaler, every):
    for i, batch in enumerate(loader):
        critic_optimizer.zero_grad()
        scaler.scale(critic(generator(batch).detach()).mean()).backward()
        scaler.step(critic_optimizer)
        if (i + 1) % every == 0:
            optimizer.zero_grad()
            scaler.scale(-critic(generator(batch)).mean()).backward()
            scaler.step(optimizer)
        scaler.update()


class Callbacks:
    def run_epoch(self, loader):
        for i, (inputs, targets) in enumerate(loader):
            loss = torch.nn.functional.mse_loss(self.model(inputs), targets) / self.window
            self.scaler.scale(loss).backward()
            if (i + 1) % self.window == 0:
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad()

    def on_epoch_end(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
