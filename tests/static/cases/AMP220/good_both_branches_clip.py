"""Whatever one branch does to the gradients, the other does as well; or the condition is no switch of this optimizer."""

import torch
from torch.nn.utils import clip_grad_norm_


def behind_the_branches(model, batches, optimizer, use_amp):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if use_amp:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
        else:
            loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        if use_amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()


def on_two_flags(model, batches, optimizer, scaler, limit, most):
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if scaler is None:
            loss.backward()
            if limit is not None:
                clip_grad_norm_(model.parameters(), limit)
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            if most > 0:
                torch.nn.utils.clip_grad_value_(model.parameters(), most)
            scaler.step(optimizer)
            scaler.update()


def limited(parameters, limit):
    for parameter in parameters:
        parameter.grad.clamp_(-limit, limit)


def in_a_function_that_both_call(model, batches, optimizer, scaler):
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            limited(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            limited(model.parameters(), 1.0)
            optimizer.step()


def another_optimizer(critic, model, batches, optimizer, critic_optimizer, use_amp):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        critic_optimizer.zero_grad()
        critic(inputs).mean().backward()
        clip_grad_norm_(critic.parameters(), 1.0)
        critic_optimizer.step()
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if use_amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


def two_phases(model, batches, optimizer, scaler, warm):
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if warm:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def only_measured(model, batches, optimizer, scaler):
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            print(clip_grad_norm_(model.parameters(), float("inf")))
            optimizer.step()


def out_of_sight(model, batches, optimizer, scaler, engine):
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if scaler is not None:
            scaler.scale(loss).backward()
            engine.clip_gradients_of(scaler, optimizer)
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()


def raises_without_a_scaler(model, batches, options):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda") if options.precision == "fp16" else None
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if options.clips:
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 1.0)
        if scaler is not None:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
