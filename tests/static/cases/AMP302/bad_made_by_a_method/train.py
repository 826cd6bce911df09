import torch
from checkpoint import Checkpoint
from precision import Precision


def run(model, optimizer, batches, precision: Precision, path):
    scaler = precision.scaler(1024.0)
    kept = Checkpoint(path)
    turn = kept.take(model, optimizer, scaler)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        turn += 1
    kept.put(model, optimizer, scaler, turn)
