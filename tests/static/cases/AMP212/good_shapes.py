"""Gradients zeroed in ways and at places that look wrong and are right."""

import torch


def by_setting_to_none(model, optimizer, scaler, batches):
    for batch in batches:
        for p in model.parameters():
            p.grad = None
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def through_the_model(model, optimizer, scaler, batches):
    for batch in batches:
        model.zero_grad(set_to_none=True)
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def at_the_beginning_of_a_window(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        if i % window == 0:
            optimizer.zero_grad()
        scaler.scale(model(batch) / window).backward()
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()


def rest_of_an_epoch_dropped(model, optimizer, scaler, loader, window, epochs):
    for epoch in range(epochs):
        optimizer.zero_grad()
        for i, batch in enumerate(loader):
            scaler.scale(model(batch) / window).backward()
            if (i + 1) % window == 0:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()


def rest_of_an_epoch_used(model, optimizer, scaler, loader, window):
    optimizer.zero_grad()
    for i, batch in enumerate(loader):
        scaler.scale(model(batch) / window).backward()
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    if (i + 1) % window != 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def bad_batch_dropped(model, optimizer, scaler, batches):
    for batch in batches:
        loss = model(batch)
        scaler.scale(loss).backward()
        if not torch.isfinite(loss):
            optimizer.zero_grad()
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def memory_run_out(model, optimizer, scaler, batches):
    for batch in batches:
        try:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
        except RuntimeError:
            optimizer.zero_grad()
            continue
        scaler.step(optimizer)
        scaler.update()


def what_the_generator_left_in_the_critic(net_d, net_g, optim_d, optim_g, scaler, batches):
    for batch in batches:
        optim_g.zero_grad()
        scaler.scale(net_d(net_g(batch))).backward()
        scaler.step(optim_g)
        optim_d.zero_grad()
        scaler.scale(net_d(batch)).backward()
        scaler.step(optim_d)
        scaler.update()


class Trainer:
    """Zeroes in a hook of its own."""

    def __init__(self, model, callbacks):
        self.model, self.callbacks = model, callbacks
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def fit(self, batches):
        for batch in batches:
            self.callbacks.optimizer_zero_grad(self.optimizer)
            self.scaler.scale(self.model(batch)).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()


def a_closure_zeroes(model, optimizer, batches):
    for batch in batches:

        def closure(batch=batch):
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = model(batch)
            loss.backward()
            return loss

        optimizer.step(closure)


def several_backwards_before_one_step(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        for part in batch.chunk(4):
            scaler.scale(model(part) / 4).backward()
        scaler.step(optimizer)
        scaler.update()


def leaves_a_step_out(model, optimizer, scaler, batches, most):
    """A step that finds no gradients does nothing, and the update that follows is due."""
    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), most)
        if norm > 10 * most:
            optimizer.zero_grad(set_to_none=True)
            scaler.step(optimizer)
            scaler.update()
            continue
        scaler.step(optimizer)
        scaler.update()


def drops_what_an_error_left(model, optimizer, scaler, batches, every):
    for number, batch in enumerate(batches):
        try:
            scaler.scale(model(batch)).backward()
        except RuntimeError:
            optimizer.zero_grad()
            continue
        if (number + 1) % every == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def overflow_dropped(model, optimizer, loader, window, most):
    scaler = torch.amp.GradScaler("cuda")
    optimizer.zero_grad()
    for i, batch in enumerate(loader):
        scaler.scale(model(batch) / window).backward()
        if (i + 1) % window == 0:
            try:
                scaler.step(optimizer)
                scaler.update()
            except OverflowError as error:
                print(error)
            optimizer.zero_grad()
        if i == most:
            break
