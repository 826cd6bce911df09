"""A norm that is only logged: the clip was meant for the step before it."""

import torch


def logged(model, optimizer, scaler, batches, log):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3)  # expect: AMP211
        log({"norm": norm.item()})
