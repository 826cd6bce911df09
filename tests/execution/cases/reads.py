"""Scaled losses that leave as the loss, and programs that read the same numbers rightly."""

import math

import torch


def _train(w, step):
    """The losses that a step returns."""
    kept = []
    for batch in w.batches:
        w.optimizer.zero_grad()
        kept.append(step(batch))
        w.scaler.step(w.optimizer)
        w.scaler.update()
    return kept


def item_of_a_scaled_loss(w):
    def step(batch):
        scaled = w.scaler.scale(w.loss(batch))
        scaled.backward()
        return scaled.item()  # AMP204

    _train(w, step)


def scaled_loss_that_is_returned(w):
    def step(batch):
        loss = w.scaler.scale(w.loss(batch))
        loss.backward()
        return loss.detach()

    total = 0.0
    for loss in _train(w, step):
        total += float(loss)  # AMP204


def scaled_losses_added_up(w):
    def step(batch):
        loss = w.scaler.scale(w.loss(batch))
        loss.backward()
        return loss

    torch.stack(_train(w, step)).mean().item()  # AMP204


def scaled_loss_in_a_text(w):
    def step(batch):
        loss = w.scaler.scale(w.loss(batch))
        loss.backward()
        return f"loss {loss:.3f}"  # AMP204

    _train(w, step)


def loss_that_is_read_before(w):
    def step(batch):
        loss = w.loss(batch)
        w.scaler.scale(loss).backward()
        return loss.item(), float(loss.detach()), f"{loss:.3f}"

    _train(w, step)


def accumulated_and_divided(w):
    total = torch.zeros(())
    for number, batch in enumerate(w.batches):
        loss = w.loss(batch) / 3
        w.scaler.scale(loss).backward()
        total += loss.detach()
        if number % 3 == 2:
            w.scaler.step(w.optimizer)
            w.scaler.update()
            w.optimizer.zero_grad()
            total.item()


def several_losses_scaled_and_summed(w):
    def step(batch):
        losses = [w.loss(batch), 0.1 * w.loss(batch * 2)]
        sum(w.scaler.scale(losses)).backward()
        return sum(losses).item()

    _train(w, step)


def divided_by_the_scale(w):
    def step(batch):
        scaled = w.scaler.scale(w.loss(batch))
        scaled.backward()
        return scaled.item() / w.scaler.get_scale()

    _train(w, step)


def divided_by_a_helper(w):
    def true_size(number):
        return number / w.scaler._scale.item()

    def step(batch):
        scaled = w.scaler.scale(w.loss(batch))
        scaled.backward()
        return true_size(scaled.item())

    _train(w, step)


def divided_as_a_tensor(w):
    def step(batch):
        scaled = w.scaler.scale(w.loss(batch))
        scaled.backward()
        return (scaled / 1024.0).item()

    _train(w, step)


def divided_in_place(w):
    def step(batch):
        scaled = w.scaler.scale(w.loss(batch))
        scaled.backward()
        return scaled.detach().div_(1024.0).item()

    _train(w, step)


def asked_for_inf_alone(w):
    def step(batch):
        scaled = w.scaler.scale(w.loss(batch))
        number = scaled.item()
        if not math.isfinite(number):
            print("overflow")
        scaled.backward()

    _train(w, step)


def scale_of_one(w):
    w.scaler = torch.amp.GradScaler("cpu", init_scale=1.0)

    def step(batch):
        scaled = w.scaler.scale(w.loss(batch))
        scaled.backward()
        return scaled.item()

    _train(w, step)


def two_networks(w):
    """A discriminator's loss on what a generator makes, and the generator's on the same."""
    judge = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(judge.parameters(), lr=0.01)
    for batch in w.batches:
        with torch.autocast("cpu", dtype=torch.float16):
            fake = w.model(batch)
            loss = judge(fake.detach()).float().mean()
        optimizer.zero_grad()
        w.scaler.scale(loss).backward()
        w.scaler.step(optimizer)
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            other = -judge(fake).float().mean()
        w.scaler.scale(other).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()
        print(loss.item() + other.item())


def losses_at_several_depths(w):
    def step(batch):
        with torch.autocast("cpu", dtype=torch.float16):
            middle = w.model[0](batch)
            last = w.model[2](w.model[1](middle))
        losses = [middle.float().pow(2).mean(), last.float().pow(2).mean()]
        loss = losses[0] * 0.3 + losses[1]
        w.scaler.scale(loss).backward()
        return [each.item() for each in (loss, *losses)]

    _train(w, step)
