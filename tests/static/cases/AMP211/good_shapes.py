"""Clips behind a step, of gradients that the step has not used."""

import torch


def of_the_next_network(net_d, net_g, optim_d, optim_g, scaler, batches):
    for batch in batches:
        optim_d.zero_grad()
        scaler.scale(net_d(batch)).backward()
        scaler.step(optim_d)
        optim_g.zero_grad()
        scaler.scale(net_g(batch)).backward()
        scaler.unscale_(optim_g)
        torch.nn.utils.clip_grad_norm_(net_g.parameters(), 1.0)
        scaler.step(optim_g)
        scaler.update()


def of_weights(critic, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(critic(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        for p in critic.parameters():
            p.data.clamp_(-0.01, 0.01)


def at_the_top_of_the_next_turn(model, optimizer, scaler, batches, engine):
    for batch in batches:
        engine.differentiate(model, scaler, batch)
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def measured_when_zeroed(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
