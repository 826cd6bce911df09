"""Each turn trains another model with another kind of optimizer: its scaler begins anew with them."""

import copy

import torch


def compare(model, kinds, batches):
    for kind, options in kinds:
        copied = copy.deepcopy(model)
        opt = kind(copied.parameters(), **options)
        scaler = torch.amp.GradScaler("cuda")
        for batch in batches:
            opt.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = copied(batch).mean()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
