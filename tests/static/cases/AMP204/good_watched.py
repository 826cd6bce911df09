"""Parameters only are watched, the watch is another program's, or it is something else."""

import torch
import wandb


def plain(model, optimizer, batches):
    wandb.watch(model, log="all")
    for batch in batches:
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()


def main(model, optimizer, batches, folder):
    wandb.watch(model, log="parameters")
    wandb.watch(model, log=None)
    folder.watch(model)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
