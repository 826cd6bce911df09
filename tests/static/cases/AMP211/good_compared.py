"""A norm that is measured after the step, to compare two ways of training."""

import torch


def both_ways_alike(model, sharded, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        assert torch.allclose(norm, sharded.norm())
