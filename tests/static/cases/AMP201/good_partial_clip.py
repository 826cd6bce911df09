import functools

import torch


def make_step(model, optimizer, scaler, max_norm):
    clip = functools.partial(torch.nn.utils.clip_grad_norm_, max_norm=max_norm)

    def step(loss):
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip(model.parameters())
        scaler.step(optimizer)
        scaler.update()

    return step


def main(model, loader, loss_fn):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    step = make_step(model, optimizer, scaler, 1.0)
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        step(loss)


def scaled_limit(model, optimizer, scaler, batches):
    for loss in batches:
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        limit = functools.partial(torch.nn.utils.clip_grad_norm_, max_norm=1.0 * scaler.get_scale())
        limit(model.parameters())
        scaler.step(optimizer)
        scaler.update()
