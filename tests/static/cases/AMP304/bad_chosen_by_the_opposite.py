"""The condition that turns the scaler on chooses bfloat16, or another chooses."""

import torch

use_cuda = torch.cuda.is_available()
amp_dtype = torch.bfloat16 if use_cuda else torch.float16


def opposite(model, loader, loss_fn):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=use_cuda)  # expect: AMP304 likely
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=amp_dtype):
            loss = loss_fn(model(inputs), targets)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def another(model, loader, loss_fn, modern):
    chosen = torch.float16 if modern else torch.bfloat16
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=use_cuda)  # expect: AMP304 likely
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=chosen):
            loss = loss_fn(model(inputs), targets)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
