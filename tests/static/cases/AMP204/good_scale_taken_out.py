"""The scale is taken out of what is read: before, after, or by what both are handed to."""

import torch


def before(model, optimizer, scaler, batches, meter):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        back = 1.0 / scaler.get_scale()
        gradients = [p.grad * back for p in model.parameters()]
        norm = torch.nn.utils.get_total_norm(gradients)
        meter.update(norm.item())
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def after(model, optimizer, scaler, batches, meter):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
        factor = scaler.get_scale()
        shown = norm / factor
        meter.update(shown.item())
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def only_tested(model, optimizer, scaler, batches):
    """Whether a norm is finite does not depend on the scale; that it is asked for beside it plays no part."""
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        if not torch.isfinite(norm):
            scaler.update(scaler.get_scale() / 2)
            optimizer.zero_grad()
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def only_tested_in_two_steps(model, optimizer, scaler, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        norms = torch.stack([p.grad.norm() for p in model.parameters()])
        norm = norms.norm()
        if not torch.isfinite(norm):
            scaler.update(scaler.get_scale() / 2)
            optimizer.zero_grad()
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
