"""The condition that turns the scaler on chooses float16 as well: for bfloat16 it is off."""

import torch

use_cuda = torch.cuda.is_available()
device = torch.device("cuda" if use_cuda else "cpu")
amp_dtype = torch.float16 if use_cuda else torch.bfloat16


def fit(model, loader, loss_fn):
    optimizer = torch.optim.AdamW(model.to(device).parameters())
    scaler = torch.amp.GradScaler(device.type, enabled=use_cuda)
    for inputs, targets in loader:
        with torch.autocast(device.type, dtype=amp_dtype):
            loss = loss_fn(model(inputs.to(device)), targets.to(device))
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
