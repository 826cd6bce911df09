import torch
from torch.amp import GradScaler


def build(trainer, args):
    scaler = GradScaler("cuda") if trainer.use_fp16 or trainer.use_bf16 else None  # expect: AMP304 likely
    other = GradScaler("cuda", enabled=args.fp16 or args.bf16)  # expect: AMP304 likely
    return scaler, other


def train(model, loss_fn, optimizer, scaler, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(model(inputs), targets)
        if scaler:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
