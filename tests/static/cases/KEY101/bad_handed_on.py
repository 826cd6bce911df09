"""Dicts that are handed to what reads them, and fills nothing but other things."""

import torch


def set_up(model, batches):
    return {
        "batches": batches,
        "scaler": torch.amp.GradScaler("cuda"),
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "history": {"loss": []},
        "seen": {},
    }


def loss_of(model, batch, use_amp):
    with torch.autocast("cuda", enabled=use_amp):
        return model(batch).mean()


def train_epoch(model, env):
    scaler, optimizer = env["scaler"], env["optimizer"]
    for batch in env["batches"]:
        loss = loss_of(model, batch, len(env["batches"]) > 1)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def summary(env: dict, totals: dict):
    totals["batches"] = len(env["batches"])
    return totals


def remember(env: dict, step: int):
    seen = env["seen"]
    seen[step] = True
    seen["last"] = step


def both(model, env: dict):
    train_epoch(model, env)
    return summary(env, {})


def by_update(model, batches):
    env = set_up(model, batches)
    train_epoch(model, env)
    print(len(env["train_data"]))  # expect: KEY101


def by_a_write_to_another(model, batches):
    env = set_up(model, batches)
    totals = summary(env, {})
    return totals["batches"], env["batch"]  # expect: KEY101


def by_a_write_to_a_part(model, batches):
    env = set_up(model, batches)
    remember(env, 3)
    return env["seen"]["last"], env["last"]  # expect: KEY101


def through_two(model, batches):
    env = set_up(model, batches)
    both(model, env)
    return env["loss"]  # expect: KEY101
