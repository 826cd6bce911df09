"""Readings of what is still multiplied by the loss scale."""

import torch


def norm_for_the_log(model, optimizer, scaler, batches, log):
    for step, batch in enumerate(batches):
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        if step % 100 == 0:
            log(torch.norm(torch.stack([torch.norm(p.grad.detach()) for p in model.parameters()])))  # expect: AMP204
        scaler.step(optimizer)
        scaler.update()


def gradient_norm(parameters):
    total = 0.0
    for p in parameters:
        total += p.grad.data.norm(2).item() ** 2  # expect: AMP204
    return total**0.5


def through_a_function(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        print(gradient_norm(model.parameters()))
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()


def noise(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    for p in model.parameters():
        p.grad.add_(1e-3 * torch.randn_like(p.grad))  # expect: AMP204
    scaler.step(optimizer)
    scaler.update()


def histograms(model, optimizer, scaler, loss, writer, step):
    scaler.scale(loss).backward()
    for name, p in model.named_parameters():
        writer.add_histogram(name, p.grad, step)  # expect: AMP204
    scaler.step(optimizer)
    scaler.update()


def scaled_loss_logged(model, optimizer, scaler, batches, meter, use_amp):
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        if use_amp:
            loss = scaler.scale(loss)
            loss.backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        meter.update(loss.item())  # expect: AMP204


def put_together(model, optimizer, scaler, batches, log):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        log(torch.norm(torch.cat([p.grad.view(-1) for p in model.parameters()]), p=2))  # expect: AMP204
        scaler.step(optimizer)
        scaler.update()


def compares_the_scale(model, optimizer, scaler, batches, scheduler):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        for p in model.parameters():
            print(p.grad.norm())  # expect: AMP204
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if before <= scaler.get_scale():
            scheduler.step()


def squares(model, optimizer, scaler, batches, clip):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        if clip:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        print(sum([p.grad.data**2 for p in model.parameters()]).sqrt())  # expect: AMP204 likely
        scaler.step(optimizer)
        scaler.update()


def squares_summed(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    print(sum((p.grad**2).sum() for p in model.parameters()))  # expect: AMP204
    print(sum(p.grad.pow(2).sum() for p in model.parameters()))  # expect: AMP204
    scaler.step(optimizer)
    scaler.update()
