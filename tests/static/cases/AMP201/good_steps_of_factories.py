import torch
from torch.nn.utils import clip_grad_norm_


def with_a_clip(model, loss_fn, optimizer, scaler):
    def step(inputs, targets):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return step


def without_one(model, loss_fn, optimizer, scaler):
    def step(inputs, targets):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)

    return step


def main(model, loss_fn, batches):
    """Both steps are about the same optimizer and the same scaler."""
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    clipped = with_a_clip(model, loss_fn, optimizer, scaler)
    plain = without_one(model, loss_fn, optimizer, scaler)
    for number, (inputs, targets) in enumerate(batches):
        if number % 2:
            plain(inputs, targets)
        else:
            clipped(inputs, targets)
