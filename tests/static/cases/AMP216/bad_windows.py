"""Losses added up."""

import torch


def undivided(model, optimizer, scaler, batches, args):
    for i, batch in enumerate(batches):
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()  # expect: AMP216 likely
        if (i + 1) % args.accumulate == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def divided_in_the_other_arm(model, optimizer, scaler, groups):
    for group in groups:
        optimizer.zero_grad()
        for batch in group:
            with torch.autocast("cuda", enabled=scaler is not None):
                output = model(batch)
                loss = output["loss"]
                loss = loss / len(group)
            if scaler is not None:
                scaler.scale(output["loss"]).backward()  # expect: AMP216 likely
            else:
                loss.backward()
        if scaler is not None:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()


class Engine:
    def __init__(self, scaler):
        self.scaler = scaler

    def backward(self, output):
        self.scaler.scale(output["total"]).backward()  # expect: AMP216 likely


def divided_too_late(model, optimizer, engine: Engine, groups, mixed):
    for group in groups:
        for batch in group:
            output = model(batch)
            loss = output["total"] / len(group)
            if mixed:
                engine.backward(output)
            else:
                loss.backward()
        optimizer.step()


def closes_with_its_first(model, optimizer, scaler, loader, every):
    for number, batch in enumerate(loader):
        loss = model(batch).mean() / every
        scaler.scale(loss).backward()
        if number % every == 0 and number != 0:  # expect: AMP216 likely
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def in_parts(model, optimizer, scaler, batches, parts):
    for batch in batches:
        size = len(batch) // parts
        for part in range(parts):
            with torch.autocast("cuda"):
                loss = model(batch[part * size : (part + 1) * size]).mean()
            scaler.scale(loss).backward()  # expect: AMP216 likely
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def divides_for_its_log_only(model, optimizer, scaler, loader, every, kept, show):
    for number, batch in enumerate(loader):
        loss = model(batch)
        scaler.scale(loss).backward()  # expect: AMP216 likely
        kept.append(loss.detach())
        if (number + 1) % every == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            show(sum(kept) / len(kept))
            loss_kept = kept
            show(sum(loss_kept) / len(loss_kept))


def mean_of_each_batch(model, optimizer, scaler, batches, every):
    """The mean over what one batch gives is not yet its share of the window."""
    for number, batch in enumerate(batches):
        loss = model(batch).mean()
        scaler.scale(loss).backward()  # expect: AMP216 likely
        if (number + 1) % every == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
