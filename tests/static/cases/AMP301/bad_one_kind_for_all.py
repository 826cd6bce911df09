"""One optimizer of a kind that a caller chooses: each turn forgets the scale."""

import torch


def train(model, kind, batches, epochs):
    opt = kind(model.parameters(), lr=0.1)
    for _ in range(epochs):
        scaler = torch.amp.GradScaler("cuda")  # expect: AMP301
        for batch in batches:
            opt.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(batch).mean()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
