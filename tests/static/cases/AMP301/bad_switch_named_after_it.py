"""A setting whose name speaks of the scaler, and another object of such a name: neither asks whether there is one."""

import torch


def train(model, optimizer, epochs, batches, args, feature_scaler):
    for _ in range(epochs):
        if args.use_grad_scaler:
            scaler = torch.amp.GradScaler("cuda")  # expect: AMP301
        else:
            scaler = torch.amp.GradScaler("cuda", enabled=False)
        for batch in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(batch).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def normalised(model, optimizer, epochs, batches, feature_scaler):
    for _ in range(epochs):
        if feature_scaler is not None:
            amp = torch.amp.GradScaler("cuda")  # expect: AMP301
        for batch in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(batch).mean()
            amp.scale(loss).backward()
            amp.step(optimizer)
            amp.update()
