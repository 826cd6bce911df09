"""The scale is asked for in the same function, for something else than what is read."""

import torch


def norm_of(model):
    return torch.stack([p.grad.norm() for p in model.parameters()]).norm()


def formatted(value):
    return f"{value:.1f}"


def labelled(model, optimizer, scaler, batches, meter):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        label = formatted(scaler.get_scale())
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])  # expect: AMP204
        meter.update(norm.item())
        meter.title(label)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def doubled(model, optimizer, scaler, batches, shown):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        inv_scales = 1.0 / scaler.get_scale()
        big = scaler.scale(loss)
        big.backward()
        shown.append(big.item())  # expect: AMP204
        shown.append(inv_scales * 2.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
