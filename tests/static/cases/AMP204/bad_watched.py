import torch
import wandb


def start(model):
    run = wandb.init(project="p")
    run.watch(model)  # expect: AMP204 likely
    wandb.watch(model, log="gradients")  # expect: AMP204 likely


def main(model, optimizer, batches):
    start(model)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
