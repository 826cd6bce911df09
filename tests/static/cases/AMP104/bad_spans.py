"""One region stays open while an optimizer steps, and steps again on what the region still holds."""

import torch


def region_around_the_loop(model, loss_fn, optimizer, scaler, batches):
    with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP104
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = loss_fn(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


@torch.autocast("cuda", dtype=torch.bfloat16)  # expect: AMP104
def region_on_the_training_function(model, loss_fn, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()


def around_a_correct_loop(model, loss_fn, optimizer, scaler, loader, epochs):
    for _ in range(epochs):
        with torch.amp.autocast("cuda"):  # expect: AMP104
            one_epoch(model, loss_fn, optimizer, scaler, loader)


def one_epoch(model, loss_fn, optimizer, scaler, loader):
    for inputs, targets in loader:
        with torch.amp.autocast("cuda"):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def even_an_island_keeps_the_casts(model, loss_fn, optimizer, batches):
    with torch.autocast("cuda", enabled=False):  # expect: AMP104
        for inputs, targets in batches:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = loss_fn(model(inputs), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


class Learner:
    def __init__(self, model, use_amp):
        self.model = model
        self.use_amp = use_amp
        self.optimizer = torch.optim.Adam(model.parameters())

    def learn(self, batch, inner_steps):
        with torch.autocast("cuda", enabled=self.use_amp):  # expect: AMP104
            for _ in range(inner_steps):
                loss = self.model(batch).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
