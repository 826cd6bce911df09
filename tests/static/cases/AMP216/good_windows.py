"""Losses that are divided, or not added up."""

import torch


def divided(model, optimizer, scaler, batches, args):
    for i, batch in enumerate(batches):
        with torch.autocast("cuda"):
            loss = model(batch)
            loss = loss / args.accumulate
        scaler.scale(loss).backward()
        if (i + 1) % args.accumulate == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def divided_in_the_call(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        scaler.scale(model(batch) / window).backward()
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def divided_in_the_gradients(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        scaler.scale(model(batch)).backward()
        if (i + 1) % window == 0:
            for p in model.parameters():
                p.grad /= window
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def trained_every_few_turns(model, optimizer, scaler, batches, every):
    for i, batch in enumerate(batches):
        model.observe(batch)
        if i % every == 0:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()


def loss_of(model, batch, window):
    with torch.autocast("cuda"):
        loss = model(batch)
        return loss / window


def divided_where_it_is_computed(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        value = loss_of(model, batch, window)
        scaler.scale(value).backward()
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def divided_for_both_arms(model, optimizer, scaler, groups):
    for group in groups:
        for batch in group:
            loss = model(batch)["loss"]
            loss = loss / len(group)
            if scaler is not None:
                scaler.scale(loss).backward()
            else:
                loss.backward()
        scaler.step(optimizer)
        scaler.update()


def divided_in_each_arm(model, optimizer, scaler, groups):
    for group in groups:
        for batch in group:
            total = model(batch)
            if scaler is not None:
                scaler.scale(total / len(group)).backward()
            else:
                loss = total / len(group)
                loss.backward()
        scaler.step(optimizer)
        scaler.update()


def divided_in_place(model, optimizer, scaler, groups):
    for group in groups:
        for batch in group:
            output = model(batch)
            loss = output["loss"] / len(group)
            output["loss"] = output["loss"] / len(group)
            if scaler is not None:
                scaler.scale(output["loss"]).backward()
            else:
                loss.backward()
        scaler.step(optimizer)
        scaler.update()


def closes_with_its_last(model, optimizer, scaler, loader, every):
    for number, batch in enumerate(loader, 1):
        loss = model(batch).mean() / every
        scaler.scale(loss).backward()
        if number % every == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def parts_that_are_shared_out(model, optimizer, scaler, batches, parts):
    for batch in batches:
        size = len(batch) // parts
        for part in range(parts):
            with torch.autocast("cuda"):
                loss = model(batch[part * size : (part + 1) * size]).mean() / parts
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def a_step_for_each(model, optimizer, scaler, batch, rounds):
    for _ in range(rounds):
        optimizer.zero_grad()
        scaler.scale(model(batch).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
