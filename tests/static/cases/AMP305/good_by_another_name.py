"""A scaler by another name steps and is updated: what it lacks is another rule's."""

import torch


def train(model, optimizer, batches, half):
    q = torch.amp.GradScaler("cuda") if half else None
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        loss.backward()
        if q is not None:
            q.step(optimizer)
            q.update()
        else:
            optimizer.step()
        optimizer.zero_grad()
